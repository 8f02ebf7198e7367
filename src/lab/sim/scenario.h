/* scenario.h - all a run is played on: cluster, world, workload
 *
 * From built-in defaults, or from files the user names.  One scenario a (seed, load),
 * shared by all policies: they are compared on the same requests. */
#pragma once

#include "base/str.h"
#include "lab/traces/arrivals.h"
#include "lab/traces/real_schedule.h"
#include "lab/traces/slurm.h"
#include "lab/traces/workload.h"

struct scenario_options {
    const char *workload;    /* a built-in, see scenario_builtin */
    const char *cluster;     /* built-in or YAML file; NULL: the workload's */
    const char *throughputs; /* Gavel JSON; NULL: the synthetic world */
    const char *watts;       /* folder of power sweeps for them, see power_sweeps.h; NULL:
                                utilisation is drawn */
    const char *trace;       /* CSV; NULL: generated requests */
    const char *arrivals;    /* CSV of a public trace; NULL: generated requests */
    enum arrivals_format arrivals_format;
    const struct slurm *slurm; /* its jobs, and its cluster unless another is given; NULL:
                                  none.  Borrowed */
    double alone_sd;           /* of the jobs' own factors, as the simulator has it */
    bool as_is;                /* arrivals: play the whole list, whatever load that is */
    const char *demand;  /* CSV of requests that give services their shape; NULL: none */
    const char *replace; /* what if: see what_if.h; NULL: the cluster as it is */
    double load;
    double days;  /* 0: the workload's */
    size_t limit; /* 0: no limit on the number of requests */
    uint64_t seed;
    bool first_protocol; /* true sizes are told, and no service asks for a latency */
};

struct scenario {
    struct world *world;
    struct workload *workload;
    struct cluster *cluster;
    int *gpu_of_type;               /* (cluster types) */
    struct real_schedule *schedule; /* of an operator's own jobs, as they are; NULL: none
                                     */
    int late_type; /* nodes of this type join at late_s, if that is not 0 */
    double late_s;
    double drift; /* of rates, see truth.h */
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
    /* What a variant changes; 0 or NULL: nothing. */
    const char *cluster;  /* built-in cluster, when its name is another */
    double host_watts;    /* of every node */
    bool tight;           /* requirements of 0.5 to 0.9 of the reference rate */
    bool new_family;      /* one comes half way that nobody has seen before */
    const char *late_gpu; /* nodes of this type join half way */
    double drift;         /* rates rise and fall by this share */
    int max_replicas;     /* of services on one GPU */
};

const struct scenario_builtin *scenario_builtin_find(const char *name); /* NULL: none */
const char *scenario_builtin_names(struct str *out); /* "demo, standard, ..." */

int scenario_build(struct scenario *scenario, const struct scenario_options *options,
                   struct err *err);
void scenario_fini(struct scenario *scenario);
