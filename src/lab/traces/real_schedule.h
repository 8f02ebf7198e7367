/* real_schedule.h - when and where the jobs of an operator's list really ran
 *
 * A simulation that follows it (lab/sim/sim_follow.c) shows what the cluster really did,
 * by the same meters as what a policy would have done. */
#pragma once

#include "lab/traces/slurm.h"

struct real_stay {
    double start_s; /* since the first arrival */
    double end_s;
    int type;       /* of the cluster; -1: it has none of that name */
    int node_count; /* 0: not told, any node with the type */
    int *nodes;     /* (node_count) of the cluster */
    bool shares; /* it began when all GPUs of its node had jobs, and some of these a part
                    of one */
};

struct real_schedule {
    size_t count;
    struct real_stay *stays; /* in the order of slurm.arrivals */
    size_t elsewhere; /* stays on nodes that the cluster does not have, or without this
                         type */
};

/* The caller ends it with real_schedule_destroy(). */
struct real_schedule *real_schedule_create(const struct slurm *slurm,
                                           const struct cluster *cluster);
void real_schedule_destroy(struct real_schedule *schedule); /* NULL is fine */
