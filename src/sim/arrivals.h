/* arrivals.h - lists of arrivals from public traces, made into requests
 *
 * Such traces tell when jobs came, how long they took and on how many GPUs, not what they
 * were: the model of each is drawn from the world.  Durations are read as time on the
 * reference GPU.  The readers are trace_philly.h and trace_alibaba.h. */
#ifndef CORGI_SIM_ARRIVALS_H
#define CORGI_SIM_ARRIVALS_H

#include "sim/workload.h"

#define ARRIVALS_GPUS_SIZE 64

enum arrival_class {
    ARRIVAL_ANY,         /* the trace does not tell: drawn */
    ARRIVAL_SERVICE,     /* latency sensitive */
    ARRIVAL_TRAINING,    /* with a required rate */
    ARRIVAL_BEST_EFFORT, /* batch work that asks for nothing */
};

struct arrival {
    double at_s; /* since the first of the list */
    double duration_s;
    int devices;
    enum arrival_class class;
    char gpus[ARRIVALS_GPUS_SIZE]; /* types it asks for, "t4|p100"; "": any */
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

/* For readers: sort by time and let the first come at 0; ERR_FORMAT when there is none.
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
};

struct workload *arrivals_workload(const struct arrivals *arrivals,
                                   const struct arrivals_use *use,
                                   const struct world *world);

#endif
