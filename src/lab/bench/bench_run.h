/* bench_run.h - single measurements of `corgi bench optimize` */
#pragma once

#include "lab/bench/instance.h"
#include "lab/solver/solve.h"

#include <stdbool.h>
#include <stdint.h>

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

/* What is claimed of a plan that counts as proven. */
#define BENCH_PROVEN_GAP 0.005

struct bench_run {
    const char *solver;
    int jobs, types, devices;
    double cpu_s, wall_s;
    double objective, bound, gap; /* NaN: none */
    int unserved;                 /* -1: no plan */
    bool ended;                   /* no time limit cut it short */
    bool proven;                  /* to be within BENCH_PROVEN_GAP of the best plan */
    double times_corgi;           /* its time by ours on the same instance; NaN */
};

struct bench_churn {
    int jobs, events;
    double move_watts;
    double mean_ms, p50_ms, p99_ms, max_ms;
    double moves_per_event;
    double drift; /* cost over that of a fresh solve, less one */
    int unserved, fresh_unserved;
};

struct instance_options bench_instance(const struct bench_optimize_options *o, int jobs);

/* The optimizer, median of a few runs. */
int bench_run_corgi(struct solver *solver, const struct problem *p,
                    const struct bench_optimize_options *o, struct bench_run *run,
                    struct err *err);
int bench_run_reference(const char *name, const struct problem *p,
                        const struct bench_optimize_options *o, struct bench_run *run,
                        struct err *err);
int bench_run_churn(const struct world *world, const struct bench_optimize_options *o,
                    int jobs, struct bench_churn *churn, struct err *err);
