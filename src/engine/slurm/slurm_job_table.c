/* slurm_job_table.c - slurm_engine.c hands over the helper's rows of jobs; the sink hears
 * what follows */
#include "engine/slurm/slurm_job_table.h"

#include "base/hash.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"
#include "engine/slurm/slurm_access.h"
#include "engine/slurm/slurm_found.h"
#include "engine/slurm/slurm_node_table.h"
#include "engine/slurm/slurm_other_jobs.h"
#include "probe/jobstats.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A slurmctld that was killed may come back without a job and, killed again, with it: a
 * job must have been gone for so long.  Of an array's elements that wait and are
 * cancelled Slurm keeps nothing, so these are gone sooner. */
#define GONE_S         30.0
#define GONE_ELEMENT_S 5.0

enum job_told {
    TOLD_WAITS,
    TOLD_RUNS,
    TOLD_ENDED, /* or not wanted */
};

struct slurm_job_entry {
    char id[SLURM_ID_SIZE];
    uint64_t job;
    double submit_s, start_s;
    int restarts;
    enum job_told told;
    bool held;
    bool seen;
    bool counted;     /* what jobstats wrote was told */
    uint64_t belongs; /* as in struct slurm_ours */
    int group;        /* and limit, as they were told; -1: not yet */
    double limit_s;
    double gone_s; /* since when Slurm does not show it; 0: it does */
};

struct slurm_job_table {
    struct slurm_node_table *nodes;
    struct slurm_other_jobs *others; /* that ask for no GPU, or are not the loop's */
    struct slurm_row_keeper keeper;
    struct engine_sink sink;
    vec_of(struct slurm_job_entry) jobs;
    struct map *by_id;
    bool whole; /* all jobs have been told since the helper came */
};

struct slurm_job_table *slurm_job_table_create(struct slurm_node_table *nodes,
                                               struct engine_sink sink)
{
    struct slurm_job_table *t = mem_new(struct slurm_job_table);

    t->nodes = nodes;
    t->sink = sink;
    t->others = slurm_other_jobs_create(nodes);
    t->by_id = map_create();
    t->whole = true;
    return t;
}

void slurm_job_table_destroy(struct slurm_job_table *t)
{
    if (!t)
        return;
    slurm_other_jobs_destroy(t->others);
    vec_free(&t->jobs);
    map_destroy(t->by_id);
    free(t);
}

/* ---- names ------------------------------------------------------------------------- */

void slurm_job_ref(char *text, size_t size, const char *id, double submit_s, int restarts)
{
    snprintf(text, size, "%s@%.0f+%d", id, submit_s, restarts);
}

bool slurm_job_ref_read(const char *text, char id[SLURM_ID_SIZE], double *submit_s,
                        int *restarts)
{
    const char *at = strchr(text, '@');
    size_t length = at ? (size_t)(at - text) : 0;
    char *end;

    if (length == 0 || length >= SLURM_ID_SIZE)
        return false;
    *submit_s = strtod(at + 1, &end);
    if (*end != '+' || !(*submit_s > 0))
        return false;
    *restarts = (int)strtol(end + 1, &end, 10);
    memcpy(id, text, length);
    id[length] = '\0';
    return *end == '\0';
}

static struct slurm_job_entry *find(const struct slurm_job_table *t, const char *id)
{
    size_t at;

    return map_get(t->by_id, hash_text(id), &at) ? &t->jobs.items[at] : NULL;
}

static struct slurm_job_entry *add(struct slurm_job_table *t, const char *id)
{
    struct slurm_job_entry entry = {0};

    str_copy(entry.id, sizeof(entry.id), id);
    map_put(t->by_id, hash_text(id), t->jobs.count);
    vec_push(&t->jobs, entry);
    return &t->jobs.items[t->jobs.count - 1];
}

static void drop(struct slurm_job_table *t, struct slurm_job_entry *e)
{
    size_t at = (size_t)(e - t->jobs.items);

    map_remove(t->by_id, hash_text(e->id));
    *e = t->jobs.items[--t->jobs.count];
    if (at < t->jobs.count)
        map_put(t->by_id, hash_text(e->id), at);
}

void slurm_job_table_adopt(struct slurm_job_table *t, const struct engine_job *job)
{
    char id[SLURM_ID_SIZE];
    struct slurm_job_entry *e;
    double submit_s;
    int restarts;

    if (!job->ref || !slurm_job_ref_read(job->ref, id, &submit_s, &restarts))
        return;
    e = find(t, id);
    if (!e)
        e = add(t, id);
    e->job = job->job->id;
    e->submit_s = submit_s;
    e->restarts = restarts;
    e->told = job->device_count > 0 ? TOLD_RUNS : TOLD_WAITS;
    e->belongs = slurm_groups_hash(job->there);
    e->start_s = 0; /* whichever it is */
    e->group = -1;
}

bool slurm_job_table_watches(const struct slurm_job_table *t, const char *id)
{
    return find(t, id) != NULL;
}

void slurm_job_table_set_keeper(struct slurm_job_table *t, struct slurm_row_keeper keeper)
{
    t->keeper = keeper;
}

/* ---- telling ----------------------------------------------------------------------- */

static void tell(const struct slurm_job_table *t, struct engine_event *event)
{
    t->sink.event(t->sink.ctx, event);
}

static uint64_t tell_found(const struct slurm_job_table *t,
                           const struct slurm_job_row *row, double now_s)
{
    char ref[2 * SLURM_ID_SIZE];
    struct engine_found found;
    uint64_t job = 0;

    slurm_job_ref(ref, sizeof(ref), row->id, row->submit_s, row->restarts);
    found = slurm_job_found(t->nodes, row, ref);
    found.job_out = &job;
    tell(t, &(struct engine_event){
                .kind = ENGINE_JOB_FOUND, .at_s = now_s, .found = &found});
    return job;
}

static void tell_changed(const struct slurm_job_table *t, const struct slurm_job_row *row,
                         uint64_t job, double now_s)
{
    char ref[2 * SLURM_ID_SIZE];
    struct engine_found found;

    slurm_job_ref(ref, sizeof(ref), row->id, row->submit_s, row->restarts);
    found = slurm_job_found(t->nodes, row, ref);
    tell(t, &(struct engine_event){
                .kind = ENGINE_JOB_CHANGED, .at_s = now_s, .job = job, .found = &found});
}

/* Where it may be, when that is another than was told. */
static void tell_bound(const struct slurm_job_table *t, struct slurm_job_entry *e,
                       const struct slurm_job_row *row, double now_s)
{
    struct slurm_access *access = slurm_node_table_access(t->nodes);
    int group = slurm_access_group(access, row);
    double limit_s = slurm_access_limit_s(access, row);

    if (e->group == group && e->limit_s == limit_s)
        return;
    e->group = group;
    e->limit_s = limit_s;
    tell(t, &(struct engine_event){.kind = ENGINE_JOB_BOUND,
                                   .at_s = now_s,
                                   .job = e->job,
                                   .group = group,
                                   .limit_s = limit_s});
}

static void tell_started(const struct slurm_job_table *t, const struct slurm_job_row *row,
                         uint64_t job)
{
    int devices[LOOP_MAX_GANG], count = 0, wanted = slurm_job_wanted(row);
    int each = row->host_count > 0 ? (wanted + row->host_count - 1) / row->host_count : 0;
    struct str nodes = {0};

    for (int i = 0; i < row->host_count; i++) {
        count = slurm_node_table_devices(t->nodes, row->hosts[i].node, row->hosts[i].gpus,
                                         each, devices, count);
        str_addf(&nodes, "%s%s", i ? "," : "", row->hosts[i].node);
    }
    tell(t, &(struct engine_event){.kind = ENGINE_STARTED,
                                   .at_s = row->start_s,
                                   .job = job,
                                   .device_count = count,
                                   .devices = devices,
                                   .text = str_text(&nodes)});
    str_fini(&nodes);
}

static void tell_ended(const struct slurm_job_table *t, uint64_t job, enum engine_end end,
                       double at_s, const struct slurm_job_row *row, const char *text)
{
    tell(t, &(struct engine_event){.kind = ENGINE_ENDED,
                                   .at_s = at_s,
                                   .job = job,
                                   .end = end,
                                   .exit_status = row ? row->exit_status : 0,
                                   .signal = row ? row->signal : 0,
                                   .steps = NAN,
                                   .text = text});
}

/* ---- rows -------------------------------------------------------------------------- */

/* A job that came to a number anew has never been queued again, and comes later.  Slurm
 * counts the restart and changes the time in two steps, so the count may be known before.
 * A slurmctld that was killed may have forgotten a restart, with its time. */
static bool same_job(const struct slurm_job_entry *e, const struct slurm_job_row *row)
{
    if (e->submit_s == row->submit_s)
        return true;
    if (e->told == TOLD_ENDED)
        return false;
    return row->submit_s > e->submit_s ? row->restarts > 0 && row->restarts >= e->restarts
                                       : row->restarts < e->restarts;
}

/* An element of an array that waits: cancelled ones leave nothing behind. */
static bool leaves_nothing(const struct slurm_job_entry *e)
{
    return e->told == TOLD_WAITS && strchr(e->id, '_');
}

static void tell_lost(const struct slurm_job_table *t, const struct slurm_job_entry *e,
                      double now_s)
{
    if (leaves_nothing(e))
        tell_ended(t, e->job, ENGINE_END_CANCELLED, now_s, NULL,
                   "Slurm took it out of its array");
    else if (e->told != TOLD_ENDED)
        tell_ended(t, e->job, ENGINE_END_UNKNOWN, now_s, NULL,
                   "Slurm does not know it any more: it ended while nobody looked, or "
                   "slurmctld lost it");
}

/* Back in the queue by Slurm's own doing, or because slurmctld forgot that it began. */
static void queue_again(struct slurm_job_table *t, struct slurm_job_entry *e,
                        double now_s)
{
    e->told = TOLD_WAITS;
    tell_ended(t, e->job, ENGINE_END_REQUEUED, now_s, NULL, "Slurm queued it again");
}

static void begin(struct slurm_job_table *t, struct slurm_job_entry *e,
                  const struct slurm_job_row *row, double now_s)
{
    if (e->told == TOLD_RUNS && e->start_s > 0 && e->start_s != row->start_s)
        queue_again(t, e, now_s);
    /* After a restart of ours: where it is, again. */
    if (e->told == TOLD_WAITS || e->start_s == 0)
        tell_started(t, row, e->job);
    e->told = TOLD_RUNS;
    e->start_s = row->start_s;
}

static void finish(struct slurm_job_table *t, struct slurm_job_entry *e,
                   const struct slurm_job_row *row, double now_s)
{
    static const enum engine_end ends[] = {
        [SLURM_JOB_DONE] = ENGINE_END_DONE,
        [SLURM_JOB_FAILED] = ENGINE_END_FAILED,
        [SLURM_JOB_CANCELLED] = ENGINE_END_CANCELLED,
        [SLURM_JOB_TIMEOUT] = ENGINE_END_TIME_LIMIT,
    };
    char text[80];

    if (row->host_count > 0 && row->start_s > 0)
        begin(t, e, row, now_s);
    e->told = TOLD_ENDED;
    snprintf(text, sizeof(text), "Slurm says: %.40s", row->state);
    tell_ended(t, e->job, ends[row->stands], row->end_s > 0 ? row->end_s : now_s, row,
               text);
}

static uint64_t groups_hash(const struct slurm_job_row *row)
{
    struct job_groups groups = slurm_job_groups(row);

    return slurm_groups_hash(&groups);
}

static struct slurm_job_entry *know(struct slurm_job_table *t,
                                    const struct slurm_job_row *row, double now_s)
{
    struct slurm_job_entry *e = find(t, row->id);
    uint64_t job;

    if (e && same_job(e, row))
        return e;
    if (e) {
        tell_lost(t, e, now_s);
        drop(t, e);
    }
    job = tell_found(t, row, now_s);
    e = add(t, row->id);
    e->job = job;
    e->told = job ? TOLD_WAITS : TOLD_ENDED;
    e->held = row->held;
    e->belongs = groups_hash(row);
    e->group = slurm_access_group(slurm_node_table_access(t->nodes), row);
    e->limit_s = slurm_access_limit_s(slurm_node_table_access(t->nodes), row);
    return e;
}

/* jobstats writes when a job ends, or a little later. */
static void tell_counted(struct slurm_job_table *t, struct slurm_job_entry *e,
                         const struct slurm_job_row *row, double now_s)
{
    enum jobstats_kind kind = JOBSTATS_ABSENT;
    struct jobstats stats = {0};

    if (e->counted || e->job == 0 || e->told != TOLD_ENDED || !row->admin_comment ||
        jobstats_read(row->admin_comment, &kind, &stats, NULL) < 0 ||
        kind != JOBSTATS_KNOWN || stats.gpus == 0 || !(stats.gpu_use >= 0))
        return;
    e->counted = true;
    tell(t, &(struct engine_event){
                .kind = ENGINE_JOB_COUNTED,
                .at_s = now_s,
                .job = e->job,
                .counted = {stats.gpu_use, stats.unused_gpus, stats.gpu_gb}});
}

static void follow(struct slurm_job_table *t, struct slurm_job_entry *e,
                   const struct slurm_job_row *row, double now_s)
{
    e->seen = true;
    e->gone_s = 0;
    if (e->told == TOLD_ENDED) {
        tell_counted(t, e, row, now_s);
        return;
    }
    if (e->submit_s != 0 && e->submit_s != row->submit_s && e->told == TOLD_RUNS)
        queue_again(t, e, now_s);
    if (e->submit_s != 0 && (e->submit_s != row->submit_s || e->held != row->held))
        tell_changed(t, row, e->job, now_s);
    e->submit_s = row->submit_s;
    e->restarts = row->restarts;
    e->held = row->held;
    tell_bound(t, e, row, now_s);
    slurm_job_tell_groups(&t->sink, row, e->job, now_s, &e->belongs);
    if (row->stands == SLURM_JOB_WAITS && e->told == TOLD_RUNS)
        queue_again(t, e, now_s);
    else if (row->stands == SLURM_JOB_RUNS)
        begin(t, e, row, now_s);
    else if (row->stands >= SLURM_JOB_DONE)
        finish(t, e, row, now_s);
    tell_counted(t, e, row, now_s);
}

static void take_row(struct slurm_job_table *t, const struct slurm_job_row *row,
                     double now_s)
{
    if (t->keeper.ctx && t->keeper.take(t->keeper.ctx, row, now_s))
        return;
    if (t->keeper.ctx || !slurm_job_wants_gpus(row)) /* else the loop counts it */
        slurm_other_jobs_take(t->others, row);
    if (slurm_job_wants_gpus(row))
        follow(t, know(t, row, now_s), row, now_s);
}

void slurm_job_table_watch(struct slurm_job_table *t, uint64_t job,
                           const struct slurm_job_row *row, double now_s)
{
    struct slurm_job_entry *e = find(t, row->id);

    if (!e)
        e = add(t, row->id);
    e->job = job;
    e->submit_s = row->submit_s;
    e->restarts = row->restarts;
    e->told = TOLD_WAITS;
    e->held = row->held;
    e->start_s = 0;
    e->group = -1;
    e->belongs = groups_hash(row); /* this row does not say, the next one does */
    slurm_other_jobs_take(t->others, row);
    follow(t, e, row, now_s);
}

/* Whoever was not told in a look at all jobs is not there any more. */
static void sweep(struct slurm_job_table *t, double now_s)
{
    for (size_t i = 0; i < t->jobs.count; i++)
        if (!t->jobs.items[i].seen && t->jobs.items[i].gone_s == 0)
            t->jobs.items[i].gone_s = now_s;
}

/* Whoever has been gone for long enough. */
static void forget(struct slurm_job_table *t, double now_s)
{
    for (size_t i = t->jobs.count; i-- > 0;) {
        struct slurm_job_entry *e = &t->jobs.items[i];
        double wait_s = leaves_nothing(e) ? GONE_ELEMENT_S : GONE_S;

        if (e->gone_s == 0 || (e->told != TOLD_ENDED && now_s - e->gone_s < wait_s))
            continue;
        tell_lost(t, e, now_s);
        drop(t, e);
    }
}

void slurm_job_table_take(struct slurm_job_table *t, const struct json_value *answer,
                          double now_s)
{
    const struct json_value *rows = json_value_get(answer, "rows"),
                            *gone = json_value_get(answer, "gone");
    bool fresh = json_member_bool(answer, "fresh", false);
    struct slurm_job_row row;

    if (fresh && t->whole)
        for (size_t i = 0; i < t->jobs.count; i++)
            t->jobs.items[i].seen = false;
    if (fresh && t->whole)
        slurm_other_jobs_forget(t->others);
    if (fresh && t->whole && t->keeper.ctx)
        t->keeper.anew(t->keeper.ctx);
    t->whole = !fresh;
    for (size_t i = 0; i < json_value_count(rows); i++)
        if (slurm_answers_job(json_value_item(rows, i), &row))
            take_row(t, &row, now_s);
    for (size_t i = 0; i < json_value_count(gone); i++) {
        const char *id = json_value_string(json_value_item(gone, i));
        struct slurm_job_entry *e = id ? find(t, id) : NULL;

        if (e && e->gone_s == 0)
            e->gone_s = now_s;
        if (id)
            slurm_other_jobs_gone(t->others, id);
        if (id && t->keeper.ctx)
            t->keeper.gone(t->keeper.ctx, id);
    }
    if (fresh && !json_member_bool(answer, "more", false)) {
        sweep(t, now_s);
        t->whole = true;
    }
    forget(t, now_s);
    if (t->keeper.ctx && !json_member_bool(answer, "more", false))
        t->keeper.looked(t->keeper.ctx, now_s);
    slurm_node_table_tell_rooms(t->nodes, now_s);
}

struct slurm_job_counts slurm_job_table_counts(const struct slurm_job_table *t)
{
    struct slurm_job_counts counts = {0};

    for (size_t i = 0; i < t->jobs.count; i++) {
        counts.waiting += t->jobs.items[i].told == TOLD_WAITS;
        counts.running += t->jobs.items[i].told == TOLD_RUNS;
    }
    return counts;
}
