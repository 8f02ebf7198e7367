/* scenario.h - all a run is played on: cluster, world, workload
 *
 * From built-in defaults, or from files the user names.  One scenario a (seed, load),
 * shared by all policies: they are compared on the same requests. */
#ifndef CORGI_SIM_SCENARIO_H
#define CORGI_SIM_SCENARIO_H

#include "sim/workload.h"

struct scenario_options {
    const char *workload;    /* a built-in: demo, standard, modern */
    const char *cluster;     /* YAML file; NULL: the workload's */
    const char *throughputs; /* Gavel JSON; NULL: the synthetic world */
    const char *trace;       /* CSV; NULL: generated requests */
    double load;
    double days;  /* 0: the workload's */
    size_t limit; /* 0: no limit on the number of requests */
    uint64_t seed;
};

struct scenario {
    struct world *world;
    struct workload *workload;
    struct cluster *cluster;
    int *gpu_of_type; /* (cluster types) */
};

/* The built-in workloads, and what they mean. */
struct scenario_builtin {
    const char *name;
    const char *summary;
    double days;
    double inference;
    double several_gpus;
    bool diurnal;
    int seeds;         /* paired seeds a row by default */
    const char *loads; /* by default, in percent */
};

const struct scenario_builtin *scenario_builtin_find(const char *name); /* NULL: none */

int scenario_build(struct scenario *scenario, const struct scenario_options *options,
                   struct err *err);
void scenario_fini(struct scenario *scenario);

#endif
