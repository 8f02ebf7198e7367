/* place.h - the stage that turns a plan into actions
 *
 * Compares the plan with what runs, changes the loop's picture accordingly and lists what
 * the engine has to do, in an order that is safe to execute: wake and caps, stops, moves,
 * starts, sleep.  A plan that breaks a rule is refused whole. */
#pragma once

#include "base/err.h"
#include "base/vec.h"
#include "loop/job_table.h"
#include "loop/planner.h"

typedef vec_of(struct action) place_actions;
/* Seats of a plan that are not where their jobs are: starts, moves, stops. */
typedef vec_of(size_t) place_changes;

/* The rules every plan keeps, written without any planner's code: each job on as many
 * distinct usable devices as it asked for, no device over share_max, types and sharing as
 * allowed, no running job stopped or moved that may not be, no seat on a node
 * that shall sleep, caps within limits.  What changes by the plan is listed. */
int place_check(const struct optimize_input *in, const struct plan *plan,
                place_changes *changes, struct err *err);

/* Does a job that sits where it does have these devices already? */
bool place_stays(const struct job_status *status, const int *devices, int count);

/* What place_check() listed is done.  Appends to actions; jobs and cluster change as if
 * the actions were done. */
void place_apply(const struct optimize_input *in, const struct plan *plan,
                 const place_changes *changes, struct jobs *jobs, struct cluster *cluster,
                 place_actions *actions);
