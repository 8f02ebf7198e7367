/* train_data.h - rows to train P1 and P2 on, from worlds drawn by the generator
 *
 * Half of them from streams of arrivals cut at some point, half from full catalogues with
 * a held-out job of which a few pairs were shown: what the networks meet in use. */
#ifndef CORGI_LAB_EVAL_TRAIN_DATA_H
#define CORGI_LAB_EVAL_TRAIN_DATA_H

#include "base/rng.h"
#include "model/stat_network.h"

struct train_data {
    struct statnet_row *rows; /* (count) */
    size_t count;
};

/* initial: only rows of jobs of which nothing was measured (P1).  The caller ends it with
 * train_data_fini(). */
void train_data_init(struct train_data *data, int worlds, bool initial, uint64_t seed);
void train_data_fini(struct train_data *data);

#endif
