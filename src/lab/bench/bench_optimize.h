/* bench_optimize.h - `corgi bench optimize`: how fast and how near
 *
 * Draws instances, runs the optimizer and, if asked, the reference solvers on the same
 * ones, and prints processor time, cost, bound and gap; with churn also the time of
 * single events.  JSON: {"runs": [...], "growth": {...}, "churn": [...]}; with small the
 * share of small instances near their optimum, see bench_small.h. */
#ifndef CORGI_LAB_BENCH_BENCH_OPTIMIZE_H
#define CORGI_LAB_BENCH_BENCH_OPTIMIZE_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define BENCH_OPTIMIZE_MAX_LIST 16

struct bench_optimize_options {
    int jobs[BENCH_OPTIMIZE_MAX_LIST];            /* sizes to run */
    int jobs_count;                               /* 0: 1,000 */
    const char *solvers[BENCH_OPTIMIZE_MAX_LIST]; /* corgi, names of reference.h, all */
    int solver_count;                             /* 0: corgi */
    int types;                                    /* 0: those of the table */
    uint64_t seed;
    const char *throughputs; /* Gavel's JSON; NULL: the synthetic world */
    double devices_per_job;  /* 0: 0.6 */
    double multi;            /* share of jobs on several devices */
    double progress_watts;   /* price of progress; 0: power alone */
    double host_watts;       /* of nodes of four devices; 0: devices are only counted */
    double limit_s;          /* for each reference solver; 0: 60 */
    double move_watts;       /* charge in churn; 0: 3 */
    bool caps, sleep, distinct;
    bool no_lp; /* prices by sampling */
    int churn;  /* events on each size; 0: none */
    int small;  /* this many small instances against their optimum instead; 0: no */
    bool json;
};

/* 0, or -1 with a sentence: a file that cannot be read, a solver nobody knows, a plan the
 * checker refuses. */
int bench_optimize_main(const struct bench_optimize_options *options, FILE *out,
                        struct err *err);

#endif
