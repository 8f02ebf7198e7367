/* bench_plan.h - `corgi bench plan`: what an event costs the planner that ships
 *
 * A simulated cluster is filled with jobs, services and gangs among them, and left alone
 * until all of them were measured and limits of power are set.  Then others arrive and
 * some end; each round of the loop, and each quote, is timed in processor time.  Rounds
 * that also look for a better placement, one in five minutes, are counted apart. */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define BENCH_PLAN_MAX_SIZES 8
#define BENCH_PLAN_MOST_JOBS 20000

struct bench_plan_options {
    int jobs[BENCH_PLAN_MAX_SIZES]; /* that run; two GPUs for each */
    int jobs_count;
    int events; /* arrivals while it is timed, and as many ends */
    uint64_t seed;
    bool json;
};

int bench_plan_main(const struct bench_plan_options *options, FILE *out, struct err *err);
