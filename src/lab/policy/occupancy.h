/* occupancy.h - who would sit where, while a plan is being made
 *
 * A working copy of the cluster's seats: it starts from the jobs that run, and follows as
 * a planner seats, unseats and moves.  Memory is reused from round to round. */
#pragma once

#include "loop/planner.h"

struct occupancy {
    int device_count, node_count;
    int *counts;                    /* (devices) */
    const struct job_status **jobs; /* (devices, LOOP_MAX_SHARE) */
    int *node_jobs;                 /* (nodes) seats taken */
};

/* Load the running jobs of the input. */
void occupancy_load(struct occupancy *o, const struct optimize_input *in);
/* Load the seats of a plan instead. */
void occupancy_load_plan(struct occupancy *o, const struct optimize_input *in,
                         const struct plan *plan);
void occupancy_fini(struct occupancy *o);

void occupancy_add(struct occupancy *o, const struct cluster *cluster, int device,
                   const struct job_status *job);
void occupancy_remove(struct occupancy *o, const struct cluster *cluster, int device,
                      const struct job_status *job);

static inline const struct job_status *const *occupancy_of(const struct occupancy *o,
                                                           int device)
{
    return &o->jobs[(long)device * LOOP_MAX_SHARE];
}

/* May this job join the device at all: usable, room under share_max, allowed type,
 * everyone there willing to share?  Rates and memory are the planner's to judge. */
bool occupancy_admits(const struct occupancy *o, const struct optimize_input *in,
                      int device, const struct job *job);

/* What the device would run with one more job (NULL: as it is), under this cap. */
void occupancy_combination(const struct occupancy *o, const struct optimize_input *in,
                           int device, double cap_watts, const struct job_status *more,
                           struct combination *out);
