/* truth.h - what really happens on a device of the simulated cluster
 *
 * Rates and watts of whatever runs on a device, from the world's tables and from each
 * job's own hidden factors: knowing a job's class is not knowing the job. */
#ifndef CORGI_ENGINE_SIM_TRUTH_H
#define CORGI_ENGINE_SIM_TRUTH_H

#include "engine/sim/sim_request.h"

struct truth {
    const struct world *world; /* borrowed */
    const int *gpu_of_type;    /* (cluster types) the world's GPU of each cluster type */
    double alone_sd;           /* of the log of a job's own factor, alone */
    double beside_sd;          /* and beside others */
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

#endif
