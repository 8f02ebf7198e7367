/* train.h - `corgi train`: the networks that ship, from the synthetic world alone */
#ifndef CORGI_LAB_EVAL_TRAIN_H
#define CORGI_LAB_EVAL_TRAIN_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct train_options {
    const char *out; /* folder the weights go to; NULL: train and report only */
    uint64_t seed;
    int worlds;    /* 0: 3000 */
    int steps;     /* 0: 8000 */
    bool progress; /* a bar on stderr */
};

/* Trains alone, p1 and p2, writes out/NAME.bin of each, prints held-out errors. */
int train_main(const struct train_options *options, FILE *out, struct err *err);

#endif
