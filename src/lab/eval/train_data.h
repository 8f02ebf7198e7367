/* train_data.h - rows to train the network of rates alone on, from worlds drawn by the
 * generator */
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

/* Rows for the network of rates alone (model/ratios.h): a catalogue, full or with
 * holes, and jobs that are not in it (nor, half of the time, their family), of which a
 * few types were measured; the other types are to be told. */
void train_alone_init(struct train_data *data, int worlds, uint64_t seed,
                      const struct train_listener *listener);
void train_data_fini(struct train_data *data);
