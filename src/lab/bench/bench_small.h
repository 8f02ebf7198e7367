/* bench_small.h - small instances against their exact optimum
 *
 * Sizes from 10 to 100 jobs, three to six types, scarce and ample devices, with and
 * without caps: each solved by the optimizer and by the exact integer program. */
#pragma once

#include "lab/bench/bench_run.h"

#include <stdio.h>

#define BENCH_SMALL_NEAR 0.001 /* counts as within, of the optimum */

struct bench_small_one {
    int jobs, types;
    double devices_per_job;
    bool caps;
    uint64_t seed;
    double cpu_s, exact_cpu_s;
    double cost;
    double exact; /* cost of the exact solver's plan: the optimum when it is proven */
    double bound; /* no plan costs less, says the exact solver */
    double gap;   /* what the optimizer itself proves */
    bool proven;
    int unserved, exact_unserved; /* -1: the exact solver found no plan */
};

struct bench_small {
    int count, proven;
    int within;        /* of the proven: at most BENCH_SMALL_NEAR over the optimum */
    int open_within;   /* of the others: so near to the exact solver's lower bound */
    double open_worst; /* of these: over that lower bound */
    int open_better; /* of these: the exact solver's plan is cheaper by more than that */
    int unserved_more;  /* instances that leave out a job the exact solver serves */
    double worst, mean; /* of the proven, over the optimum, as parts of it */
    double max_cpu_s, mean_cpu_s;
    struct bench_small_one *all; /* (count) */
};

/* count instances, seeds one after the other from options->seed on. */
int bench_small_run(const struct world *world, struct solver *solver,
                    const struct bench_optimize_options *options, int count,
                    struct bench_small *small, struct err *err);
void bench_small_fini(struct bench_small *small);

/* Over the optimum, or over the lower bound when it is not proven; at least 0. */
double bench_small_over(const struct bench_small_one *one);
void bench_small_json(const struct bench_small *small, FILE *out);
void bench_small_print(const struct bench_small *small, FILE *out);
