/* job_table.h - the jobs the loop knows, by id, and the active ones in order of admission
 */
#pragma once

#include "loop/types.h"

struct jobs;

struct jobs *jobs_create(void);
void jobs_destroy(struct jobs *jobs); /* NULL is fine */

/* Copies the job; it waits.  The id must be new.  The pointer stays valid until the job
 * is dropped. */
struct job_status *jobs_add(struct jobs *jobs, const struct job *job);

struct job_status *jobs_get(const struct jobs *jobs, uint64_t id); /* NULL when unknown */

/* The job has ended: it leaves the active list and its memory is given back. */
void jobs_drop(struct jobs *jobs, uint64_t id);

/* Waiting and running jobs in order of admission; borrowed until the next add or drop. */
const struct job_status *const *jobs_active(const struct jobs *jobs, size_t *count);

/* The same, to be changed. */
struct job_status *const *jobs_each(struct jobs *jobs, size_t *count);

/* Those of them a planner is shown: not those that wait and are held, or whose earlier
 * attempt is still there, nor the job `but` (0: none is
 * left out).  There is room for one more behind them; borrowed until the next call. */
const struct job_status **jobs_shown(struct jobs *jobs, uint64_t but, double now_s,
                                     size_t *count);
/* When the first of those begins that have to wait until a time; INFINITY: none. */
double jobs_next_start_s(const struct jobs *jobs, double now_s);

/* Runs, or may have a seat at this time. */
static inline bool jobs_may_sit(const struct job_status *status, double now_s)
{
    return status->state == JOB_RUNNING ||
           (!status->held && !status->leaving && status->not_before_s <= now_s);
}
