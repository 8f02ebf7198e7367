/* bench_estimate.h - `corgi bench estimate`: what estimates cost on one core
 *
 * Times are processor time of one thread, the median of several runs. */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct bench_estimate_options {
    int gpus;         /* 0: 8 */
    int corunners;    /* 0: 1000 */
    int observations; /* in memory; 0: 1000 */
    uint64_t seed;
    bool json;
};

int bench_estimate_main(const struct bench_estimate_options *options, FILE *out,
                        struct err *err);
