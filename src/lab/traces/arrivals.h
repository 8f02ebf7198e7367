/* arrivals.h - lists of arrivals from public traces, made into requests
 *
 * Such traces tell when jobs came, how long they took and on how many GPUs, not what they
 * were: the model of each is drawn from the world.  Durations are read as time on the
 * reference GPU, or on the type a job ran on where that is told.
 *
 * Philly: CSV with the columns arrival_s,duration_s,num_gpus; others are passed over.
 *
 * Alibaba's pod list: CSV with the columns num_gpu,qos,creation_time,deletion_time,
 * scheduled_time and, if there, gpu_spec and gpu_milli.  Pods without a GPU or never
 * scheduled are left out.  LS and Guaranteed pods are services, Burstable ones training
 * with a required rate, BE ones ask for nothing.  A pod that asks for thousandths of a
 * GPU needs that share of the reference rate; of others the share is drawn.  Two types
 * its operators do not disclose: G2, most of the cluster, is played by the A10 and G3 by
 * the A100, in gpu_spec as in the built-in cluster `alibaba`.  On a cluster without these
 * cards such a wish binds nobody.
 *
 * An operator's own jobs: slurm.h. */
#pragma once

#include "lab/tables/csv.h"
#include "lab/traces/workload.h"

#define ARRIVALS_GPUS_SIZE   64
#define ARRIVALS_MAX_S       (10 * 365.25 * 86400) /* any time or duration */
#define ARRIVALS_MAX_DEVICES 4096
/* A job that asks for the rate it had is content with this share of it: no two runs are
 * quite alike. */
#define ARRIVALS_KEPT 0.9

enum arrival_class {
    ARRIVAL_ANY,         /* the trace does not tell: drawn */
    ARRIVAL_SERVICE,     /* latency sensitive */
    ARRIVAL_TRAINING,    /* with a required rate */
    ARRIVAL_BEST_EFFORT, /* batch work that asks for nothing */
    ARRIVAL_AS_IT_RAN,   /* training that asks for about the rate it had */
};

struct arrival {
    double at_s; /* since the first of the list */
    double duration_s;
    int devices;
    enum arrival_class class;
    char gpus[ARRIVALS_GPUS_SIZE]; /* types it asks for, "t4|p100"; "": any */
    double share; /* of the reference rate, or of the rate it had where it ran, what it
                     asks for; 0: not told: drawn, or ARRIVALS_KEPT */
    /* The rest is for ARRIVAL_AS_IT_RAN. */
    char ran_on[GPU_NAME_SIZE];         /* key of the catalogue */
    char beside_on[ARRIVALS_GPUS_SIZE]; /* types of its other nodes, "t4|p100": the
                                           slowest sets its pace */
    int nodes;                          /* it ran on; 0: one */
    int owner;
    bool part;     /* it had a part of a GPU */
    int group;     /* of the cluster's nodes it may use; 0: all, see loop/node_access.h */
    uint64_t like; /* arrivals with the same number are the same model; 0: drawn */
    double gpu_use; /* of its GPUs, as counted, 0..1: it is one of the models that use
                       such a GPU about as much; 0: not told */
    size_t record;  /* in the list it was read from */
};

struct arrivals {
    size_t count;
    struct arrival *items; /* by time */
};

enum arrivals_format { ARRIVALS_PHILLY, ARRIVALS_ALIBABA };

/* *arrivals is filled or untouched; err names file, line and what to do. */
int arrivals_load(struct arrivals *arrivals, const char *path,
                  enum arrivals_format format, struct err *err);
void arrivals_fini(struct arrivals *arrivals);

/* For slurm.c: sort by time and let the first come at 0; ERR_FORMAT when there is none.
 */
int arrivals_finish(struct arrivals *arrivals, const char *name, struct err *err);

struct arrivals_use {
    const struct cluster *cluster; /* whose types the arrivals may ask for */
    double inference;              /* share of services among those of ARRIVAL_ANY */
    /* 0: the whole list as it is.  Else a part of it, from a place the seed says, just
     * long enough for this load of the devices, and squeezed into so many days: its
     * bursts. */
    double load;
    double days;
    size_t limit; /* at most so many; 0: no limit */
    uint64_t seed;
    double alone_sd; /* of the jobs' own factors, see truth.h */
};

struct workload *arrivals_workload(const struct arrivals *arrivals,
                                   const struct arrivals_use *use,
                                   const struct world *world);
