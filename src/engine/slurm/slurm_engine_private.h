/* slurm_engine_private.h - the inside of slurm_engine.h: slurm_engine.c looks, and
 * slurm_engine_orders.c carries out what the loop decides in the mode `control` */
#pragma once

#include "base/poller.h"
#include "engine/slurm/slurm_engine.h"

struct slurm_engine {
    struct engine_sink sink;
    struct slurm_engine_options options;
    struct engine_ops ops; /* of the mode `control` */
    int poller, timer_fd;
    struct poller_watch timer;
    struct helper_link *link;
    struct slurm_node_table *nodes;
    struct slurm_access *access;
    struct slurm_job_table *jobs;
    struct slurm_control *control; /* NULL: it only watches */
    struct slurm_caps *caps;       /* NULL: nobody sets power limits */
    struct slurm_power *power;
    double now_s;       /* the daemon's clock, in dispatch */
    double next_look_s; /* monotonic, as the next one */
    double next_conf_s;
    long looks;
    bool conf_told; /* what Slurm's settings are, or that nobody knows */
    bool adopted;   /* the daemon has named what it knows: jobs may be told */
    bool online, said;
    bool hidden;          /* PrivateData hides jobs; it was said */
    bool no_reservations; /* Slurm does not tell them, likewise */
    char trouble[400];    /* why it is not online */
};

/* Be called again at this time of the monotonic clock. */
void slurm_engine_arm(struct slurm_engine *engine, double next_s);

/* The operations of one that only watches, and those that change something. */
struct engine_ops slurm_engine_control(const struct engine_ops *watching);
