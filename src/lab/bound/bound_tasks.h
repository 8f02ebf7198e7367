/* bound_tasks.h - what there is to do in a run, and all ways to do it on one device
 *
 * A job that trains is a task of so many steps.  A service is a few tasks, one for each
 * level of what is asked of it, of so many seconds.  A combination is one task, or two of
 * one size that may run at the same time, on a type; it has the most that it can do and
 * the least that it can draw whatever is asked within the levels. */
#pragma once

#include "base/vec.h"
#include "engine/sim/truth.h"
#include "lab/traces/workload.h"
#include "loop/cluster.h"
#include "loop/optimize/plan.h"

/* The run that is asked about. */
struct bound_case {
    const struct truth *truth;
    const struct workload *workload;
    const struct cluster *cluster;
    double grace_s;
    int share_max;
    bool caps;
};

struct bound_task {
    const struct sim_request *request;
    double amount;         /* steps, or seconds of a service */
    double low, high;      /* requests/s asked for; 0: it trains */
    double need;           /* the rate it must have at least; 0: no type can give it */
    double from_s, till_s; /* when it can run */
};

struct bound_combo {
    int task[2]; /* the second -1: alone */
    int type;
    int busy;      /* share of the device in use, in steps */
    float rate[2]; /* without a limit */
};

struct bound_capped {
    double watts, speed;
};

#define BOUND_STEPS 512

struct bound_tasks {
    vec_of(struct bound_task) items;
    vec_of(struct bound_combo) combos;
    double until_s;                       /* when all of it is over */
    double host_watts[CLUSTER_MAX_TYPES]; /* of a node, awake, for each device */
    int caps[CLUSTER_MAX_TYPES];
    struct bound_capped *capped; /* (types, PLAN_CAPS_MOST, BOUND_STEPS + 1) */
};

/* False: see energy_bound.h; ends with _fini() all the same. */
bool bound_tasks_init(struct bound_tasks *tasks, const struct bound_case *in);
void bound_tasks_fini(struct bound_tasks *tasks);

static inline struct bound_capped bound_tasks_capped(const struct bound_tasks *tasks,
                                                     int type, int cap, int busy)
{
    return tasks
        ->capped[((size_t)type * PLAN_CAPS_MOST + (size_t)cap) * (BOUND_STEPS + 1) +
                 (size_t)busy];
}
