/* bench_run.h - single measurements of `corgi bench optimize` */
#ifndef CORGI_LAB_BENCH_BENCH_RUN_H
#define CORGI_LAB_BENCH_BENCH_RUN_H

#include "lab/bench/bench_optimize.h"
#include "lab/bench/instance.h"
#include "lab/solver/solve.h"

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

#endif
