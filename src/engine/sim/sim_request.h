/* sim_request.h - a request as the simulated cluster knows it
 *
 * What the user told (the job) and what only the simulated world knows: the class the job
 * is of, its work, its own hidden factors, the demand of a service. */
#ifndef CORGI_ENGINE_SIM_SIM_REQUEST_H
#define CORGI_ENGINE_SIM_SIM_REQUEST_H

#include "loop/types.h"
#include "world/world.h"

/* So many requests/s are asked of a service from this time after its submission on. */
struct request_step {
    double after_s, rate;
};

struct sim_request {
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
    const struct request_step *demand; /* (demand_steps) instead, borrowed; NULL: none */
    int demand_steps;
    int max_replicas;      /* inference: it may have so many; 0: one */
    bool scale_to_zero;    /* inference: and none while nobody asks */
    uint64_t service;      /* a replica: whose requests it shares; 0: it is none */
    uint64_t hidden;       /* seed of its own factors */
    double reference_rate; /* of its class on the reference GPU: the unit of work */
};

/* The demand of a service at a time: a day's wave with a faster beat on it, or with the
 * shape of a trace; or steps. */
double request_demand(const struct sim_request *request, double at_s);

/* May its number of replicas change? */
static inline bool request_scales(const struct sim_request *request)
{
    return request->max_replicas > 1 || request->scale_to_zero;
}

/* Fill what follows from the class: names, description, reference rate.  The requirement
 * becomes `share` of the reference rate. */
void request_describe(struct sim_request *request, const struct world *world, int cls,
                      int reference_gpu, double share);

/* The GPU of the world that is the fastest on average: work is measured by it. */
int request_reference_gpu(const struct world *world);

#endif
