/* pose.h - the optimizer's problem, posed from jobs, cluster and estimates */
#ifndef CORGI_LOOP_OPTIMIZE_POSE_H
#define CORGI_LOOP_OPTIMIZE_POSE_H

#include "loop/optimize/kinds.h"
#include "loop/optimize/problem.h"

/* What a job is held to when the problem is posed. */
enum pose_mode {
    POSE_ASKED,   /* its requirement, or nearly the best there is if none can meet it */
    POSE_RELAXED, /* nothing: any place is better than none */
    POSE_PINNED,  /* nothing, and it stays where it is */
};

/* Fill p from the input; kinds is loaded with it, mode (jobs) says how each is held.  p's
 * jobs are the input's, in order; its devices and nodes are the cluster's. */
void pose_problem(struct problem *p, const struct optimize_input *in, struct kinds *kinds,
                  const enum pose_mode *mode);

/* After pose_problem(): let as many share as the settings have it, not two at most.  For
 * planners that read all of solution_device.jobs; groups must outlive the solve. */
struct pose_groups {
    const struct optimize_input *in;
    struct kinds *kinds;
};
void pose_groups(struct problem *p, struct pose_groups *groups);

/* Could the job keep its requirement, or fit into memory, on any type if it were alone?
 */
bool pose_rate_possible(const struct optimize_input *in, const struct kinds *kinds,
                        size_t job);
bool pose_memory_possible(const struct optimize_input *in, const struct kinds *kinds,
                          size_t job);

#endif
