/* network_progress.h - what lessons made of P1 and P2 so far
 *
 * Written by network_lesson.c, kept with pairs in the checkpoint, read for metrics. */
#pragma once

#include "model/codec.h"

enum pair_network { PAIR_P1, PAIR_P2, PAIR_NETWORKS };

struct network_progress {
    uint64_t taken, rolled_back; /* lessons */
    /* Mean log error for families never learned from when the last of them began, and
     * with what it taught; 0: there was none. */
    double before, after;
};

void network_progress_code(struct network_progress *progress, struct codec *c);
