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

struct activity_options {
    double window_s;
    bool power;         /* meter the job's GPUs from the start, whatever it says itself */
    const char *marker; /* NAME=value that the job's processes have in their environment,
                           borrowed; NULL: they are those below this process */
};

/* The job's GPUs are those that CUDA_VISIBLE_DEVICES or ROCR_VISIBLE_DEVICES name, by
 * UUID or by index. */
struct activity *activity_create(const struct activity_options *options, double now_s);
void activity_destroy(struct activity *activity); /* NULL is fine */

/* Seconds so far of all processes of the job; false: nothing to tell yet. */
bool activity_look(struct activity *activity, double now_s, double *seconds);

/* Mean watts of one of its GPUs since the last call, whoever used them; NaN: not known.
 */
double activity_watts(struct activity *activity);

/* The job speaks for itself: leave its devices alone, unless their power is wanted. */
void activity_rest(struct activity *activity);

/* This user's processes with the marker in their environment, without this one and
 * without those that also have ACTIVITY_NOT_THE_JOB there. */
#define ACTIVITY_NOT_THE_JOB "CORGI_NOT_THE_JOB=1"
/* In the environment of what a probe has started itself: nobody else need measure it. */
#define ACTIVITY_PROBED "CORGI_PROBED=1"
struct process_table;
void activity_members(struct process_table *table, const char *marker);
