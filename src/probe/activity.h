/* activity.h - how busy a job is, for a job that says nothing else
 *
 * For a job with GPUs it is device seconds: the share of a device's time that the job's
 * processes used, added up; where the driver does not tell of processes, all that the
 * device does is taken for the job's.  For a job without GPUs, or with a driver that
 * tells nothing, it is processor seconds.  The two are never mixed: the first that could
 * be told stays. */
#pragma once

#include <stdbool.h>

struct activity;

/* The job's GPUs are those that CUDA_VISIBLE_DEVICES or ROCR_VISIBLE_DEVICES name. */
struct activity *activity_create(double window_s, double now_s);
void activity_destroy(struct activity *activity); /* NULL is fine */

/* Seconds so far of all processes below this one; false: nothing to tell yet. */
bool activity_look(struct activity *activity, double now_s, double *seconds);

/* The job speaks for itself: leave its devices alone. */
void activity_rest(struct activity *activity);
