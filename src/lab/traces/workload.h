/* workload.h - the requests a simulation plays
 *
 * A list in order of arrival, made by the generator or read from a trace (trace.h).  Each
 * request carries what the user would tell (the job) and what only the simulator knows:
 * its class in the world, its work, its own hidden factors. */
#pragma once

#include "base/err.h"
#include "engine/sim/truth.h"

#define WORKLOAD_MAX_REQUESTS 1000000

struct workload {
    size_t count;
    struct sim_request *requests; /* by arrival */
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
    int max_replicas;    /* of a service on one GPU; 0: one */
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

/* Device-seconds of a request alone on a device of the cluster drawn at random, as far as
 * they fall into the days that define load. */
double workload_device_seconds(const struct sim_request *request,
                               const struct world *world, const struct cluster *cluster);
