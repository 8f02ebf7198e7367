/* job_table.h - the jobs the loop knows, by id, and the active ones in order of admission
 *
 * Whoever changes a job asks for it with jobs_change(), so that the table knows what is
 * new: planners load again what has changed since they last looked, and no more. */
#pragma once

#include "loop/planner.h"
#include "loop/types.h"

struct jobs;
struct lengths;

struct jobs *jobs_create(void);
void jobs_destroy(struct jobs *jobs); /* NULL is fine */

/* Copies the job; it waits.  The id must be new.  The pointer stays valid until the job
 * is dropped. */
struct job_status *jobs_add(struct jobs *jobs, const struct job *job);

/* Another table, with copies of these. */
struct jobs *jobs_dup(const struct job_status *const *jobs, size_t count);

const struct job_status *jobs_get(const struct jobs *jobs,
                                  uint64_t id); /* NULL when unknown */

/* To be changed at once: not after the next call of jobs_shown(). */
struct job_status *jobs_change(struct jobs *jobs, uint64_t id); /* likewise */

/* The company of these jobs has changed, which planners keep with them. */
void jobs_touch(struct jobs *jobs, const struct device *device);

/* The job has ended: it leaves the active list and its memory is given back. */
void jobs_drop(struct jobs *jobs, uint64_t id);

/* Waiting and running jobs in order of admission; borrowed until the next add or drop. */
const struct job_status *const *jobs_active(const struct jobs *jobs, size_t *count);

/* The same, to be changed only in what no planner reads. */
struct job_status *const *jobs_each(const struct jobs *jobs, size_t *count);

/* Those of them a planner is shown: not those that wait and are held, or whose earlier
 * attempt is still there, nor the job `but` (0: none is left out).  There is room for one
 * more behind them; borrowed until the next call. */
struct jobs_shown {
    size_t count;
    const struct job_status **jobs;
    struct job_stamp *stamps;
};
struct jobs_shown jobs_shown(struct jobs *jobs, uint64_t but, double now_s);

/* Copies of some of those shown, in their order, without what they were quoted: for a
 * planner on another thread.  They stay as they are until the next call, or, of jobs that
 * were dropped, until jobs_forget_copies(). */
void jobs_copy(struct jobs *jobs, const struct job_stamp *stamps, size_t count,
               const struct job_status **copies);
void jobs_forget_copies(struct jobs *jobs);

/* What is kept of how long jobs run: for those of jobs_shown() that have come on. */
void jobs_follow(struct jobs *jobs, struct lengths *lengths, double now_s);

/* How many devices of a type jobs would have otherwise, see reference_place.h. */
int jobs_reference_devices(struct jobs *jobs, int type);

/* When the first of those begins that have to wait until a time; INFINITY: none. */
double jobs_next_start_s(const struct jobs *jobs, double now_s);

/* Runs, or may have a seat at this time. */
static inline bool jobs_may_sit(const struct job_status *status, double now_s)
{
    return status->state == JOB_RUNNING ||
           (!status->held && !status->leaving && status->not_before_s <= now_s);
}
