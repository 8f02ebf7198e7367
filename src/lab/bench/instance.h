/* instance.h - optimizer problems drawn from a seed and a table of rates
 *
 * Jobs are drawn evenly over the table's classes, each needs 20 to 80 % of what it would
 * do alone on a type drawn at random.  Rates are the table's; power comes from the model
 * of world/power.h.  Types beyond those of the table are invented by scaling them. */
#pragma once

#include "lab/solver/problem.h"
#include "world/world.h"

struct instance_options {
    int jobs;
    int types;              /* 0: as many as the table has */
    double devices_per_job; /* 0: 0.8 */
    double multi;           /* share of jobs on 2, 4 or 8 devices */
    bool caps;
    bool distinct;     /* every job has factors of its own on its rates */
    double progress;   /* watts a job's rate alone on its reference type is worth */
    double host_watts; /* of a node; 0: no nodes, devices are only counted */
    int node_devices;  /* devices a node; 0: 4 */
    bool sleep;
    int spare_jobs; /* drawn as well, behind job_count: for arrivals to come */
    uint64_t seed;
};

/* The caller owns the problem. */
struct problem *instance_create(const struct world *world,
                                const struct instance_options *options);
