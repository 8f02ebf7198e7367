/* truth.h - what really happens on a device of the simulated cluster
 *
 * A request is what the user told (the job) and what only the simulated world knows: the
 * class the job is of, its work, its own hidden factors, the demand of a service.  Rates
 * and watts of whatever runs on a device follow from the world's tables and from these
 * factors: knowing a job's class is not knowing the job. */
#pragma once

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
    double steps;       /* training: what is really to be done, whatever was told */
    double serve_s;     /* inference: how long it is really wanted; 0: until stopped */
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

/* Does the service batch requests continuously?  Then its devices never rest, and answers
 * come as fast at any load until it is near all it can do. */
bool request_batches(const struct sim_request *request);

/* How the answers of a service come that can do `capacity` requests/s and is asked for
 * `load`: infinitely late when that is more. */
struct request_latency {
    double median_s, late_s; /* 50th and 99th percentile */
    double held;             /* requests inside, on average */
};
struct request_latency request_latency(const struct sim_request *request, double capacity,
                                       double load);

/* Fill what follows from the class: names, description, reference rate.  The requirement
 * becomes `share` of the reference rate. */
void request_describe(struct sim_request *request, const struct world *world, int cls,
                      int reference_gpu, double share);

/* The GPU of the world that is the fastest on average: work is measured by it. */
int request_reference_gpu(const struct world *world);

struct truth {
    const struct world *world; /* borrowed */
    const int *gpu_of_type; /* (cluster types) the world's GPU of each; NULL: the same */
    double alone_sd;        /* of the log of a job's own factor, alone */
    double beside_sd;       /* and beside others */
    bool beside_free; /* neighbours cost nothing: a schedule that was is followed, and
                         what they cost is in its times */
    double gang_interference; /* two gangs that share run at this factor of what jobs on
                                 one device would, each a draw of its own around it; 0
                                 and 1: nothing more */
    double cap_steepness;     /* what a power limit leaves of a rate, to this power; 0
                                 and 1: as the power model says */
    bool drawn_power;  /* draw and limits as truth_power.h draws them for each class;
                          else as the loop's own power model says */
    double drift;      /* rates of a class on a type rise and fall by this share */
    double drift_at_s; /* the moment they are those of */
};

struct truth_member {
    const struct sim_request *request;
    int nodes;     /* nodes its devices span */
    double demand; /* requests/s asked for now; 0 for training: all it can do */
};

struct truth_outcome {
    double rate[LOOP_MAX_SHARE]; /* of each whole job if this device were the slowest of
                                    it */
    double watts;                /* of this device */
    bool fits; /* false: together they exceed its memory or do not run */
};

/* Rate of a request alone on a type, uncapped; 0: does not run there. */
double truth_alone(const struct truth *truth, const struct sim_request *request, int type,
                   int nodes);

void truth_outcome(const struct truth *truth, int type, double cap_watts,
                   const struct truth_member *members, int count,
                   struct truth_outcome *out);
