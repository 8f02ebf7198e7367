/* workload.h - the requests a simulation plays
 *
 * A list in order of arrival, made by the generator or read from a trace (trace.h).  Each
 * request carries what the user would tell (the job) and what only the simulator knows:
 * its class in the world, its work, its own hidden factors. */
#ifndef CORGI_SIM_WORKLOAD_H
#define CORGI_SIM_WORKLOAD_H

#include "base/err.h"
#include "loop/types.h"
#include "world/world.h"

#define WORKLOAD_MAX_REQUESTS 1000000

struct request {
    struct job job;
    int cls; /* class in the world, at the job's number of devices; -1: the world knows no
                rate on so many, so the request is rejected whatever the policy, and no
                policy is blamed for it */
    int base; /* the same model on one device: interference is known of that; -1: none */
    double steps;       /* training: what is to be done */
    double peak_rate;   /* inference: the demand at its highest */
    double phase;       /* inference: where in the day its peak is, radians */
    const float *shape; /* (shape_minutes) its demand minute by minute, borrowed from the
                           workload; NULL: a slow beat */
    size_t shape_minutes, shape_offset;
    uint64_t hidden;       /* seed of its own factors */
    double reference_rate; /* of its class on the reference GPU: the unit of work */
};

struct workload {
    size_t count;
    struct request *requests; /* by arrival */
    double last_arrival_s;
    float *shape;      /* of the demand of services, see trace_demand.h; NULL: none */
    int reference_gpu; /* index into the world's GPUs: the fastest on average */
};

struct workload_options {
    double load;      /* share of the devices' time an exclusive first fit would use from
                         the second to the fifth day: jobs that take longer on slow devices
                         count with what falls in */
    double days;      /* of arrivals */
    double inference; /* share of requests that are services */
    double several_gpus; /* share of requests on 2, 4 or 8 GPUs */
    bool diurnal;        /* arrivals follow the day, else Poisson at a constant rate */
    bool tight;          /* requirements of 0.5 to 0.9 of the reference rate */
    bool new_family;     /* one family is kept back until half of the days are over, then
                            comes often */
    uint64_t seed;
    size_t limit; /* stop after so many requests; 0: none */
};

/* type_devices (world.gpu_count of them): how many devices of each type there are. */
struct workload *workload_generate(const struct workload_options *options,
                                   const struct world *world, const int *type_devices);
void workload_destroy(struct workload *workload); /* NULL is fine */

/* The demand of a service at a time: a day's wave with a faster beat on it, or with the
 * shape of a trace. */
double workload_demand(const struct request *request, double at_s);

/* Fill what follows from the class: names, description, reference rate.  The requirement
 * becomes `share` of the reference rate. */
void workload_describe(struct request *request, const struct world *world, int cls,
                       int reference_gpu, double share);

/* Device-seconds of a request alone on a device of the cluster drawn at random, as far as
 * they fall into the days that define load. */
double workload_device_seconds(const struct request *request, const struct world *world,
                               const struct cluster *cluster);

int workload_reference_gpu(const struct world *world);

#endif
