/* sim_check_private.h - inside of the checks, shared by sim_check*.c */
#ifndef CORGI_LAB_SIM_SIM_CHECK_PRIVATE_H
#define CORGI_LAB_SIM_SIM_CHECK_PRIVATE_H

#include "lab/sim/sim_private.h"

/* What the check saw a job do. */
struct check_job {
    double rate;   /* since the last look; 0: did not run */
    double done;   /* steps, integrated from the rates */
    double ends_s; /* a service: when its time is over */
    int restarts;
};

struct check {
    double looked_s;        /* when it last looked */
    struct check_job *jobs; /* (requests) */
    size_t seen;            /* requests that had arrived by then */
    vec_of(size_t) present; /* of these, index of those that had not ended */
    uint64_t *crowds; /* (devices) hash of what ran there when it was found to fit */
    struct cluster *before; /* the cluster as the planner sees it */
    vec_of(const struct job_status *) planned;
};

/* Fill err with the sentence; job 0: none in particular. */
int check_broken(const struct sim *sim, uint64_t job, const char *rule, struct err *err,
                 const char *format, ...) __attribute__((format(printf, 5, 6)));

/* "GPU 2 of node-3", valid until the next call. */
const char *check_gpu(const struct sim *sim, int device, char *to, size_t size);

/* sim_check_work.c: follow what jobs do, and look at those that have ended. */
int check_work(struct sim *sim, struct err *err);

#endif
