/* job_table.c - the loop's doors add, change and drop jobs here, planners are shown them
 * from here
 *
 * The active list is kept in order by sliding it together when a job leaves: a few
 * thousand entries at most move, and planners can rely on the order.  An entry has what
 * each round asks of each job: with thousands of them only those that have changed are
 * looked up themselves. */
#include "loop/job_table.h"

#include "base/map.h"
#include "base/vec.h"
#include "loop/estimate/lengths.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

struct table_job {
    struct job_status status;
    long admitted;
    bool changed; /* since its entry was last written */
};

struct table_entry {
    struct table_job *job;
    struct job_stamp stamp;
    struct job_status *copy; /* NULL: none was asked for */
    long copied;             /* the change the copy has seen */
    double follow_s;         /* its length is to be followed then */
    int reference_type;      /* the job's; -1: none, ever */
    int devices;
};

struct jobs {
    vec_of(struct table_entry) entries;      /* in order of admission */
    vec_of(struct table_job *) changed;      /* since they were last looked at */
    vec_of(struct job_status *) active;      /* of the last call */
    vec_of(const struct job_status *) shown; /* likewise */
    vec_of(struct job_stamp) stamps;         /* of those shown */
    vec_of(struct job_status *) left;        /* copies of jobs that were dropped */
    struct map *by_id;                       /* id -> pointer */
    long admitted, changes;                  /* so far */
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
    vec_each (struct table_entry, entry, &jobs->entries) {
        free(entry->copy);
        free(entry->job);
    }
    jobs_forget_copies(jobs);
    vec_free(&jobs->entries);
    vec_free(&jobs->changed);
    vec_free(&jobs->active);
    vec_free(&jobs->shown);
    vec_free(&jobs->stamps);
    vec_free(&jobs->left);
    map_destroy(jobs->by_id);
    free(jobs);
}

static struct table_job *find(const struct jobs *jobs, uint64_t id)
{
    size_t value;

    if (!map_get(jobs->by_id, id, &value))
        return NULL;
    return (struct table_job *)(uintptr_t)value;
}

static void note_change(struct jobs *jobs, struct table_job *job)
{
    if (!job->changed)
        vec_push(&jobs->changed, job);
    job->changed = true;
}

struct job_status *jobs_add(struct jobs *jobs, const struct job *job)
{
    struct table_job *added = mem_new(struct table_job);
    struct job_status *status = &added->status;

    assert(!jobs_get(jobs, job->id));
    status->job = *job;
    status->state = JOB_WAITING;
    status->required_rate = job->need.rate;
    status->started_s = status->placed_s = status->demand = NAN;
    status->counted_s = NAN;
    status->reference_type = -1;
    status->reference_seen_s = NAN;
    added->admitted = ++jobs->admitted;
    vec_push(&jobs->entries,
             (struct table_entry){.job = added,
                                  .stamp = {.admitted = added->admitted, .id = job->id}});
    note_change(jobs, added);
    map_put(jobs->by_id, job->id, (size_t)(uintptr_t)added);
    return status;
}

struct jobs *jobs_dup(const struct job_status *const *jobs, size_t count)
{
    struct jobs *copy = jobs_create();

    for (size_t i = 0; i < count; i++)
        *jobs_add(copy, &jobs[i]->job) = *jobs[i];
    return copy;
}

const struct job_status *jobs_get(const struct jobs *jobs, uint64_t id)
{
    const struct table_job *job = find(jobs, id);

    return job ? &job->status : NULL;
}

struct job_status *jobs_change(struct jobs *jobs, uint64_t id)
{
    struct table_job *job = find(jobs, id);

    if (!job)
        return NULL;
    note_change(jobs, job);
    return &job->status;
}

void jobs_touch(struct jobs *jobs, const struct device *device)
{
    for (int i = 0; i < device->job_count; i++)
        jobs_change(jobs, device->jobs[i]);
}

static size_t place_of(const struct jobs *jobs, long admitted)
{
    size_t low = 0, high = jobs->entries.count;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (jobs->entries.items[middle].stamp.admitted < admitted)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void jobs_drop(struct jobs *jobs, uint64_t id)
{
    struct table_job *job = find(jobs, id);
    size_t at, kept = 0;

    assert(job);
    at = place_of(jobs, job->admitted);
    if (jobs->entries.items[at].copy)
        vec_push(&jobs->left, jobs->entries.items[at].copy);
    memmove(&jobs->entries.items[at], &jobs->entries.items[at + 1],
            (jobs->entries.count - at - 1) * sizeof(jobs->entries.items[0]));
    jobs->entries.count--;
    for (size_t i = 0; job->changed && i < jobs->changed.count; i++)
        if (jobs->changed.items[i] != job)
            jobs->changed.items[kept++] = jobs->changed.items[i];
    if (job->changed)
        jobs->changed.count = kept;
    map_remove(jobs->by_id, id);
    free(job);
}

struct job_status *const *jobs_each(const struct jobs *jobs, size_t *count)
{
    struct jobs *own = (struct jobs *)(uintptr_t)jobs; /* its scratch */

    vec_clear(&own->active);
    vec_each (const struct table_entry, entry, &jobs->entries)
        vec_push(&own->active, &entry->job->status);
    *count = jobs->entries.count;
    return jobs->active.items;
}

const struct job_status *const *jobs_active(const struct jobs *jobs, size_t *count)
{
    return (const struct job_status *const *)jobs_each(jobs, count);
}

double jobs_next_start_s(const struct jobs *jobs, double now_s)
{
    double next_s = INFINITY;

    vec_each (const struct table_entry, entry, &jobs->entries)
        if (entry->stamp.waits && entry->job->status.not_before_s > now_s)
            next_s = fmin(next_s, entry->job->status.not_before_s);
    return next_s;
}

/* What has changed is new to whoever looked before. */
static void write_entries(struct jobs *jobs)
{
    vec_each (struct table_job *, job, &jobs->changed) {
        struct table_entry *entry =
            &jobs->entries.items[place_of(jobs, (*job)->admitted)];

        (*job)->changed = false;
        entry->stamp.changed = ++jobs->changes;
        entry->stamp.waits = (*job)->status.state != JOB_RUNNING;
        entry->follow_s = -INFINITY;
        entry->devices = (*job)->status.job.devices;
        entry->reference_type =
            isfinite((*job)->status.reference_s) ? (*job)->status.reference_type : -1;
    }
    vec_clear(&jobs->changed);
}

int jobs_reference_devices(struct jobs *jobs, int type)
{
    int devices = 0;

    write_entries(jobs);
    vec_each (const struct table_entry, entry, &jobs->entries)
        if (entry->reference_type == type)
            devices += entry->devices;
    return devices;
}

struct jobs_shown jobs_shown(struct jobs *jobs, uint64_t but, double now_s)
{
    const struct table_job *left_out = but ? find(jobs, but) : NULL;

    write_entries(jobs);
    vec_clear(&jobs->shown);
    vec_clear(&jobs->stamps);
    vec_reserve(&jobs->shown, jobs->entries.count + 1);
    vec_reserve(&jobs->stamps, jobs->entries.count + 1);
    vec_each (const struct table_entry, entry, &jobs->entries)
        if (entry->job != left_out &&
            (!entry->stamp.waits || jobs_may_sit(&entry->job->status, now_s))) {
            jobs->shown.items[jobs->shown.count++] = &entry->job->status;
            jobs->stamps.items[jobs->stamps.count++] = entry->stamp;
        }
    return (struct jobs_shown){jobs->shown.count, jobs->shown.items, jobs->stamps.items};
}

/* What planners read of a job: its devices, without the rest of the array, and not what
 * it was quoted, which is behind them. */
static void copy_job(struct job_status *copy, const struct job_status *status)
{
    memcpy(copy, status,
           offsetof(struct job_status, devices) +
               (size_t)status->device_count * sizeof(status->devices[0]));
}

void jobs_copy(struct jobs *jobs, const struct job_stamp *stamps, size_t count,
               const struct job_status **copies)
{
    struct table_entry *entry = jobs->entries.items;

    for (size_t i = 0; i < count; i++, entry++) {
        while (entry->stamp.admitted != stamps[i].admitted)
            entry++;
        if (!entry->copy)
            entry->copy = mem_new(struct job_status);
        if (entry->copied != entry->stamp.changed)
            copy_job(entry->copy, &entry->job->status);
        entry->copied = entry->stamp.changed;
        copies[i] = entry->copy;
    }
}

void jobs_forget_copies(struct jobs *jobs)
{
    vec_each (struct job_status *, copy, &jobs->left)
        free(*copy);
    vec_clear(&jobs->left);
}

void jobs_follow(struct jobs *jobs, struct lengths *lengths, double now_s)
{
    vec_each (struct table_entry, entry, &jobs->entries)
        if (!entry->stamp.waits && entry->follow_s <= now_s)
            entry->follow_s = lengths_follow(lengths, &entry->job->status, now_s);
}
