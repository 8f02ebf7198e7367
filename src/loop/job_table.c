/* job_table.c - the loop's doors add and drop jobs here, planners are shown them from
 * here
 *
 * The active list is kept in order by sliding it together when a job leaves: a few
 * thousand pointers at most move, and planners can rely on the order. */
#include "loop/job_table.h"

#include "base/map.h"
#include "base/vec.h"

#include <assert.h>
#include <math.h>
#include <string.h>

struct jobs {
    vec_of(struct job_status *) active;
    vec_of(const struct job_status *) shown; /* of the last jobs_shown() */
    struct map *by_id;                       /* id -> pointer */
};

struct jobs *jobs_create(void)
{
    struct jobs *jobs = mem_new(struct jobs);

    jobs->by_id = map_create();
    return jobs;
}

void jobs_destroy(struct jobs *jobs)
{
    if (!jobs)
        return;
    vec_each (struct job_status *, status, &jobs->active)
        free(*status);
    vec_free(&jobs->active);
    vec_free(&jobs->shown);
    map_destroy(jobs->by_id);
    free(jobs);
}

struct job_status *jobs_add(struct jobs *jobs, const struct job *job)
{
    struct job_status *status = mem_new(struct job_status);

    assert(!jobs_get(jobs, job->id));
    status->job = *job;
    status->state = JOB_WAITING;
    status->required_rate = job->need.rate;
    status->started_s = status->placed_s = status->demand = NAN;
    status->counted_s = NAN;
    status->reference_type = -1;
    status->reference_seen_s = NAN;
    vec_push(&jobs->active, status);
    map_put(jobs->by_id, job->id, (size_t)(uintptr_t)status);
    return status;
}

struct job_status *jobs_get(const struct jobs *jobs, uint64_t id)
{
    size_t value;

    if (!map_get(jobs->by_id, id, &value))
        return NULL;
    return (struct job_status *)(uintptr_t)value;
}

void jobs_drop(struct jobs *jobs, uint64_t id)
{
    struct job_status *status = jobs_get(jobs, id);
    size_t at = 0;

    assert(status);
    while (jobs->active.items[at] != status)
        at++;
    memmove(&jobs->active.items[at], &jobs->active.items[at + 1],
            (jobs->active.count - at - 1) * sizeof(jobs->active.items[0]));
    jobs->active.count--;
    map_remove(jobs->by_id, id);
    free(status);
}

const struct job_status *const *jobs_active(const struct jobs *jobs, size_t *count)
{
    *count = jobs->active.count;
    return (const struct job_status *const *)jobs->active.items;
}

struct job_status *const *jobs_each(struct jobs *jobs, size_t *count)
{
    *count = jobs->active.count;
    return jobs->active.items;
}

double jobs_next_start_s(const struct jobs *jobs, double now_s)
{
    double next_s = INFINITY;

    vec_each (struct job_status *const, status, &jobs->active)
        if ((*status)->state != JOB_RUNNING && (*status)->not_before_s > now_s)
            next_s = fmin(next_s, (*status)->not_before_s);
    return next_s;
}

const struct job_status **jobs_shown(struct jobs *jobs, uint64_t but, double now_s,
                                     size_t *count)
{
    vec_clear(&jobs->shown);
    vec_each (struct job_status *, status, &jobs->active)
        if ((*status)->job.id != but && jobs_may_sit(*status, now_s))
            vec_push(&jobs->shown, *status);
    *count = jobs->shown.count;
    vec_reserve(&jobs->shown, *count + 1);
    return jobs->shown.items;
}
