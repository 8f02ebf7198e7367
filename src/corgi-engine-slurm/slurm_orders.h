/* slurm_orders.h - what libslurm is told to do: hand in, place, release, hold, queue
 * again, signal and cancel jobs, power nodes
 *
 * Each takes the request as it came (docs/slurm.md has the members) and calls libslurm
 * once, on a worker thread, as slurm_source.h says; before that it looks whose the job is
 * where the request says whose it should be (ERR_EXISTS: somebody else's).  A request
 * that is refused here changed nothing. Where Slurm has not answered in time nobody
 * knows: the next look at the tables tells. */
#pragma once

#include "base/err.h"
#include "base/json.h"
#include "base/json_out.h"

/* Members of the answer go into the open object. */
typedef int slurm_order(const struct json_value *request, struct json_out *out,
                        struct err *err);

slurm_order slurm_order_submit;      /* a batch job as a user, on hold; tells its id */
slurm_order slurm_order_update_job;  /* places, releases, holds one that waits */
slurm_order slurm_order_update_node; /* power down or up, drain, undrain */
slurm_order slurm_order_requeue;     /* one that runs, on hold */
slurm_order slurm_order_signal;      /* its batch script */
slurm_order slurm_order_cancel;
slurm_order slurm_order_ended; /* what became of one that Slurm has forgotten */
