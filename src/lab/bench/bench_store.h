/* bench_store.h - `corgi bench store`: what this machine's disk makes of submissions
 *
 * Wall-clock times, on a store that is made for the purpose: each submission is a job, a
 * transition and an event in one batch, and counts when it is durable. */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stdio.h>

struct bench_store_options {
    const char *dir; /* where the store is made; NULL: the present one */
    double seconds;  /* each run; 0: 3 */
    double per_s;    /* submissions of the run at a steady rate; 0: 200 */
    bool keep;       /* leave the store of the last run there, as bench.db */
    bool json;
};

int bench_store_main(const struct bench_store_options *options, FILE *out,
                     struct err *err);
