/* train_data.h - rows to train the networks on, from worlds drawn by the generator
 *
 * Those of P1 and P2: half of them from streams of arrivals cut at some point, half from
 * full catalogues with a held-out job of which a few pairs were shown: what the networks
 * meet in use. */
#pragma once

#include "base/rng.h"
#include "model/stat_network.h"

struct train_data {
    struct statnet_row *rows; /* (count) */
    size_t count;
};

/* Who is told how far the drawing of worlds is, from 0 to 1. */
struct train_listener {
    void (*progress)(void *ctx, double share);
    void *ctx;
};

/* initial: only rows of jobs of which nothing was measured (P1).  The listener may be
 * NULL.  The caller ends it with train_data_fini(). */
void train_data_init(struct train_data *data, int worlds, bool initial, uint64_t seed,
                     const struct train_listener *listener);
void train_data_fini(struct train_data *data);

/* Rows for the network of rates alone (model/ratios.h): a catalogue, full or with
 * holes, and jobs that are not in it (nor, half of the time, their family), of which a
 * few types were measured; the other types are to be told. */
void train_alone_init(struct train_data *data, int worlds, uint64_t seed,
                      const struct train_listener *listener);
