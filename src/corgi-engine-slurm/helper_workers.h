/* helper_workers.h - four threads that may wait for libslurm as long as it likes
 *
 * helper_server.c hands over a task for each request that Slurm has to answer, and looks
 * for those that are done when its descriptor is woken. */
#pragma once

#include "base/err.h"
#include "corgi-engine-slurm/helper_requests.h"

struct helper_task {
    uint64_t client;
    double id;
    const struct helper_request *what;
    double deadline_s, most;
    bool late;
    bool done; /* ask helper_workers_done() */
    time_t since;
    int rc; /* of the worker: 1 unchanged */
    struct table_rows rows;
    struct str members; /* of the answer, as an object */
    struct str request; /* of an order: as it came */
    struct err err;
};

void helper_task_destroy(struct helper_task *task);

struct helper_workers;

/* woken: an eventfd that is written to whenever a task is done.  They are never ended:
 * one may be inside of libslurm for a minute. */
int helper_workers_start(struct helper_workers **workers, int woken, struct err *err);

/* The task stays the caller's, to be left alone until it is done. */
void helper_workers_add(struct helper_workers *workers, struct helper_task *task);
bool helper_workers_done(struct helper_workers *workers, const struct helper_task *task);
