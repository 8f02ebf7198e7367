/* loop.c - what is asked of the loop and what it is told; see loop.h
 *
 * Engines' events, users' requests and probes' windows come in here; rounds are in
 * round.c, an operator's words and restarts in loop_admin.c. */
#include "loop/loop.h"

#include "base/mem.h"
#include "base/rng.h"
#include "loop/admit/admit_check.h"
#include "loop/estimate/lengths.h"
#include "loop/estimate/predict.h"
#include "loop/cluster.h"
#include "loop/host_room.h"
#include "loop/loop_private.h"
#include "loop/optimize/plan.h"
#include "loop/recent_rate.h"
#include "loop/record/reference_place.h"
#include "loop/requirement.h"
#include "model/prediction_cache.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Demand may grow by this much before the next round without a broken promise. */
#define DEMAND_HEADROOM 1.25

/* What can be had is offered again when it has changed by so much. */
#define OFFER_MOVED  0.1

#define EVERY_S      300.0
#define MOST_WAITING 512

struct loop *loop_create_take(const struct loop_options *options, struct cluster *cluster,
                              struct model model, const struct planner_ops *planner)
{
    struct loop *loop = mem_new(struct loop);

    loop->settings = options->settings;
    loop->cluster = cluster;
    loop->model = model;
    loop->model.cache = prediction_cache_create(PREDICTION_CACHE_ROWS);
    loop->planned = loop->model;
    loop->planned.cache = prediction_cache_create(PREDICTION_CACHE_ROWS);
    loop->asked = loop->model;
    loop->asked.cache = prediction_cache_create(PREDICTION_CACHE_CELLS);
    loop->planner = (struct planner){planner, planner->create(options->seed)};
    loop->quoting = (struct planner){planner, planner->create(options->seed)};
    loop->jobs = jobs_create();
    loop->lengths = lengths_create();
    loop->shares = fair_shares_create();
    loop->gap_s = options->round_gap_s;
    loop->every_s = options->round_every_s > 0 ? options->round_every_s : EVERY_S;
    loop->most_waiting = options->most_waiting ? options->most_waiting : MOST_WAITING;
    loop->due_s = loop->every_s;
    loop->last_round_s = loop->stirred_s = loop->counted_s = -INFINITY;
    loop->device_changed_s = mem_array(double, (size_t)cluster->device_count);
    loop->fixed_cap_watts = mem_array(double, (size_t)cluster->device_count);
    for (int d = 0; d < cluster->device_count; d++)
        loop->fixed_cap_watts[d] = NAN;
    return loop;
}

void loop_destroy(struct loop *loop)
{
    if (!loop)
        return;
    loop->planner.ops->destroy(loop->planner.self);
    loop->quoting.ops->destroy(loop->quoting.self);
    learned_lesson_destroy(loop->studied);
    prediction_cache_destroy(loop->model.cache);
    prediction_cache_destroy(loop->planned.cache);
    prediction_cache_destroy(loop->asked.cache);
    loop->model.ops->destroy(loop->model.self);
    jobs_destroy(loop->jobs);
    lengths_destroy(loop->lengths);
    fair_shares_destroy(loop->shares);
    cluster_destroy(loop->cluster);
    plan_fini(&loop->plan);
    for (size_t i = 0; i < loop->deferred.count; i++)
        free(loop->deferred.items[i]);
    vec_free(&loop->deferred);
    vec_free(&loop->changes);
    vec_free(&loop->actions);
    vec_free(&loop->decisions);
    vec_free(&loop->before);
    vec_free(&loop->ready);
    vec_free(&loop->ready_at);
    vec_free(&loop->besides);
    round_spare_destroy(loop->spare);
    free(loop->device_changed_s);
    free(loop->fixed_cap_watts);
    free(loop);
}

/* ---- when the next round is due ---- */

void loop_want_round(struct loop *loop, double now_s)
{
    double last_s = fmin(loop->last_round_s, now_s); /* a clock may be set back */

    loop->due_s = fmin(loop->due_s, fmax(now_s, last_s + loop->gap_s));
    loop->stirred_s = now_s;
}

void loop_stir(struct loop *loop, double now_s)
{
    loop->due_s = fmin(loop->due_s, now_s + loop->every_s);
}

double loop_round_due_s(const struct loop *loop)
{
    return loop->due_s;
}

/* ---- what the model is told ---- */

static void tell(struct loop *loop, enum deferred_kind kind, const struct job *job,
                 const struct observation *seen)
{
    switch (kind) {
    case DEFERRED_BEGIN:
        loop->model.ops->begin(loop->model.self, job);
        break;
    case DEFERRED_END:
        loop->model.ops->end(loop->model.self, job);
        break;
    case DEFERRED_ABSORB:
        loop->model.ops->absorb(loop->model.self, seen);
        break;
    }
}

void loop_tell_model(struct loop *loop, enum deferred_kind kind, const struct job *job,
                     const struct observation *seen)
{
    struct deferred *d;

    if (!loop->round_out) {
        tell(loop, kind, job, seen);
        return;
    }
    d = mem_new(struct deferred);
    d->kind = kind;
    if (job)
        d->jobs[0] = *job;
    if (seen) {
        d->seen = *seen;
        for (int i = 0; i < seen->where.count; i++) {
            d->jobs[i] = *seen->where.members[i].job;
            d->seen.where.members[i].job = &d->jobs[i];
        }
    }
    vec_push(&loop->deferred, d);
}

void loop_tell_deferred(struct loop *loop)
{
    for (size_t i = 0; i < loop->deferred.count; i++) {
        struct deferred *d = loop->deferred.items[i];

        tell(loop, d->kind, &d->jobs[0], &d->seen);
        free(d);
    }
    vec_clear(&loop->deferred);
    if (loop->studied)
        learned_lesson_take(loop->model.self, loop->studied);
    loop->studied = NULL;
}

/* ---- asking ---- */

/* The same question has the same id: what planners remember of it stays true. */
static uint64_t asked_id(const struct job *job)
{
    const unsigned char *bytes = (const unsigned char *)&job->descriptor;
    uint64_t hash = rng_mix((uint64_t)job->owner, (uint64_t)job->devices);

    for (size_t i = 0; i < sizeof(job->descriptor); i++)
        hash = rng_mix(hash, bytes[i]);
    for (const char *c = job->name; *c; c++)
        hash = rng_mix(hash, (uint64_t)(unsigned char)*c);
    hash = rng_mix(hash, (uint64_t)(job->memory_gb * 1e6));
    return hash | QUOTE_ASKED;
}

/* All jobs but this one, for a quote. */
static void show(const struct loop *loop, uint64_t but, double now_s,
                 struct quote_ground *ground)
{
    struct jobs_shown shown = jobs_shown(loop->jobs, but, now_s);

    ground->jobs = shown.jobs;
    ground->stamps = shown.stamps;
    ground->now = loop_input(loop, shown.jobs, shown.count, now_s);
    ground->now.stamps = shown.stamps;
}

int loop_quote(const struct loop *loop, const struct job *job, int max_replicas,
               const struct user_quota_ask *quota, double now_s, struct quote *quote,
               struct err *err)
{
    struct quote_ground ground = {.planner = &loop->quoting, .terms = &loop->plan.terms};
    struct job asked = *job;

    asked.submitted_s = fmin(asked.submitted_s, now_s);
    show(loop, job->id, now_s, &ground);
    if (asked.id == 0)
        asked.id = asked_id(&asked);
    return quote_make(&ground, &asked, max_replicas, quota, quote, err);
}

bool loop_falls_short(const struct loop *loop, uint64_t id, double now_s)
{
    const struct job_status *status = jobs_get(loop->jobs, id);

    return status && status->state == JOB_RUNNING &&
           recent_rate_known(status, loop->cluster) &&
           recent_rate_falls_short(status, requirement_rate_kept(status, now_s));
}

double loop_time_left_s(const struct loop *loop, uint64_t id, double rate, double now_s)
{
    const struct job_status *status = jobs_get(loop->jobs, id);

    if (!status || !lengths_known(loop->lengths, &status->job))
        return NAN;
    return lengths_left_s(loop->lengths, status, rate, 0.5, now_s);
}

void loop_explain(const struct loop *loop, uint64_t id, double now_s,
                  struct decision *places)
{
    const struct decision_ground ground = {.now_s = now_s,
                                           .cluster = loop->cluster,
                                           .jobs = loop->jobs,
                                           .model = loop_model(loop),
                                           .lengths = loop->lengths,
                                           .settings = &loop->settings};

    decision_of_waiting(&ground, jobs_get(loop->jobs, id), places);
}

const struct cluster *loop_cluster(const struct loop *loop)
{
    return loop->cluster;
}

const struct optimize_settings *loop_settings(const struct loop *loop)
{
    return &loop->settings;
}

const struct job_status *loop_job(const struct loop *loop, uint64_t id)
{
    return jobs_get(loop->jobs, id);
}

const struct job_status *const *loop_jobs(const struct loop *loop, size_t *count)
{
    return jobs_active(loop->jobs, count);
}

const struct refine_score *loop_score(const struct loop *loop)
{
    return &loop->score;
}

const struct quote_score *loop_quote_score(const struct loop *loop)
{
    return &loop->quotes;
}

const struct plan *loop_plan(const struct loop *loop)
{
    return &loop->plan;
}

const struct fair_shares *loop_shares(const struct loop *loop)
{
    return loop->shares;
}

struct model *loop_model(const struct loop *loop)
{
    return (struct model *)(uintptr_t)&loop->asked;
}

/* ---- jobs ---- */

int loop_find(struct loop *loop, uint64_t id, struct job_status **status, struct err *err)
{
    *status = jobs_change(loop->jobs, id);
    if (!*status)
        return err_set(err, ERR_NOT_FOUND, "there is no job %llu",
                       (unsigned long long)id);
    return 0;
}

int loop_submit(struct loop *loop, const struct job *job, double now_s, struct err *err)
{
    struct job_status *status;

    if (loop_job(loop, job->id))
        return err_set(err, ERR_EXISTS, "job %llu exists already",
                       (unsigned long long)job->id);
    if (admit_check(job, loop->cluster, err) < 0)
        return -1;
    status = jobs_add(loop->jobs, job);
    fair_shares_meet(loop->shares, job);
    loop_tell_model(loop, DEFERRED_BEGIN, job, NULL);
    reference_place(loop->cluster, loop_own_model(loop), loop->lengths, loop->jobs,
                    status, now_s);
    loop_want_round(loop, now_s);
    return 0;
}

void loop_quoted(struct loop *loop, uint64_t id, const struct quote *q, double asked_s)
{
    struct job_status *status = jobs_change(loop->jobs, id);

    bool placed = q->verdict == QUOTE_ACCEPTED && q->device_count > 0;

    if (!status || !isnan(status->started_s) || (!placed && q->verdict != QUOTE_QUEUED))
        return;
    status->quoted = (struct quote_kept){.given = true,
                                         .asked_s = asked_s,
                                         .start_s = q->start_s,
                                         .rate = q->rate,
                                         .watts = q->watts.value,
                                         .neighbour = q->neighbour,
                                         .device_count = q->device_count};
    memcpy(status->quoted.devices, q->devices, sizeof(q->devices));
}

int loop_change(struct loop *loop, const struct job *job, double now_s, struct err *err)
{
    struct job_status *status;

    if (loop_find(loop, job->id, &status, err) < 0 ||
        admit_check(job, loop->cluster, err) < 0)
        return -1;
    if (status->job.need.kind != job->need.kind ||
        status->job.need.rate != job->need.rate)
        status->required_rate = job->need.rate;
    loop_tell_model(loop, DEFERRED_END, &status->job, NULL);
    if (status->job.total_steps != job->total_steps ||
        status->job.duration_s != job->duration_s)
        status->parts_passed = LENGTHS_RESUMED;
    status->job = *job;
    status->quoted.given = status->quoted.at_place = false; /* that was another job */
    loop_tell_model(loop, DEFERRED_BEGIN, job, NULL);
    loop_want_round(loop, now_s);
    return 0;
}

/* A device that is shared counts in equal parts. */
void loop_count_use(struct loop *loop, struct job_status *status, double now_s)
{
    double from_s = isnan(status->counted_s) ? now_s : status->counted_s, devices = 0;

    for (int i = 0; i < status->device_count; i++)
        devices += 1.0 / loop->cluster->devices[status->devices[i]].job_count;
    fair_shares_use(loop->shares, &status->job, devices * (now_s - from_s),
                    loop->settings.fair_share_s, now_s);
    status->counted_s = now_s;
}

/* Whoever was beside it has more of the device from now on. */
static void count_neighbours(struct loop *loop, const struct job_status *status,
                             double now_s)
{
    for (int i = 0; i < status->device_count; i++) {
        const struct device *d = &loop->cluster->devices[status->devices[i]];

        for (int k = 0; k < d->job_count; k++)
            if (d->jobs[k] != status->job.id)
                loop_count_use(loop, jobs_change(loop->jobs, d->jobs[k]), now_s);
    }
}

void loop_leave_devices(struct loop *loop, struct job_status *status, double now_s)
{
    count_neighbours(loop, status, now_s);
    loop_count_use(loop, status, now_s);
    for (int i = 0; i < status->device_count; i++) {
        cluster_leave(loop->cluster, status->devices[i], status->job.id, now_s);
        loop->device_changed_s[status->devices[i]] = now_s;
    }
    status->device_count = 0;
}

int loop_end_job(struct loop *loop, uint64_t id, double now_s, struct err *err)
{
    struct job_status *status;
    struct job job;

    if (loop_find(loop, id, &status, err) < 0)
        return -1;
    loop_leave_devices(loop, status, now_s);
    lengths_ended(loop->lengths, status, now_s);
    job = status->job;
    jobs_drop(loop->jobs, id);
    loop_tell_model(loop, DEFERRED_END, &job, NULL);
    loop_want_round(loop, now_s);
    return 0;
}

void loop_leaving(struct loop *loop, uint64_t id, const int *devices, int count,
                  double until_s)
{
    struct job_status *status = jobs_change(loop->jobs, id);

    const struct device_leaving who = {.job = id,
                                       .until_s = until_s,
                                       .room = status ? host_room_each(&status->job)
                                                      : (struct host_room){0}};

    for (int i = 0; i < count; i++)
        cluster_begin_leaving(loop->cluster, devices[i], &who);
    if (status)
        status->leaving = true;
}

void loop_left(struct loop *loop, uint64_t id, const int *devices, int count,
               double now_s)
{
    struct job_status *status = jobs_change(loop->jobs, id);

    for (int i = 0; i < count; i++) {
        cluster_end_leaving(loop->cluster, devices[i], id, now_s);
        loop->device_changed_s[devices[i]] = now_s;
    }
    if (status)
        status->leaving = false;
    loop_want_round(loop, now_s);
}

int loop_requeue(struct loop *loop, uint64_t id, double now_s, struct err *err)
{
    struct job_status *status;

    if (loop_find(loop, id, &status, err) < 0)
        return -1;
    loop_leave_devices(loop, status, now_s);
    status->state = JOB_WAITING;
    status->restarts++;
    loop_want_round(loop, now_s);
    return 0;
}

int loop_set_demand(struct loop *loop, uint64_t id, double rate, double now_s,
                    struct err *err)
{
    struct job_status *status;

    if (!isfinite(rate) || rate < 0)
        return err_set(err, ERR_INVALID, "a demand cannot be %g requests/s", rate);
    if (loop_find(loop, id, &status, err) < 0)
        return -1;
    status->demand = fmin(status->job.need.rate, rate);
    status->asked = rate;
    status->asked_least = fmin(status->asked_least, rate);
    status->required_rate = fmin(status->job.need.rate, rate * DEMAND_HEADROOM);
    loop_stir(loop, now_s);
    if (loop_falls_short(loop, id, now_s))
        loop_want_round(loop, now_s);
    return 0;
}

int loop_set_progress(struct loop *loop, uint64_t id, double steps_done, struct err *err)
{
    struct job_status *status;

    if (!isfinite(steps_done) || steps_done < 0)
        return err_set(err, ERR_INVALID, "progress cannot be %g steps", steps_done);
    if (loop_find(loop, id, &status, err) < 0)
        return -1;
    status->steps_done = steps_done;
    return 0;
}

/* ---- measurements ---- */

/* Since when the devices of the job have had the jobs and the cap they have. */
static double stable_since_s(const struct loop *loop, const struct job_status *status)
{
    double since_s = status->placed_s;

    for (int i = 0; i < status->device_count; i++)
        since_s = fmax(since_s, loop->device_changed_s[status->devices[i]]);
    return since_s;
}

/* A job without a promise was measured long enough: it gets one, or an offer.  While a
 * round reads the model the window is not learned yet; the next one comes soon. */
static void settle(struct loop *loop, struct job_status *status,
                   const struct measurement *m, struct loop_observed *o)
{
    struct quote_ground ground = {.planner = &loop->quoting, .terms = &loop->plan.terms};
    struct quote *q = &loop->settled;

    if (!status->job.unpromised || m->out_of_memory || loop->round_out ||
        status->pace.windows * m->window_s < QUOTE_SETTLE_S * 0.95)
        return;
    show(loop, 0, m->at_s, &ground);
    if (!quote_settle(&ground, status, q))
        return;
    status = jobs_change(loop->jobs, m->job);
    if (q->verdict == QUOTE_ACCEPTED)
        status->job.unpromised = false;
    else if (fabs(q->promised_rate - status->offered) <= OFFER_MOVED * status->offered)
        return;
    status->offered = q->verdict == QUOTE_COUNTER ? q->promised_rate : 0;
    o->settled = q;
}

int loop_measure(struct loop *loop, const struct measurement *m,
                 struct loop_observed *observed, struct err *err)
{
    struct loop_observed ignored = {0}, *o = observed ? observed : &ignored;
    struct job_status *status = jobs_change(loop->jobs, m->job);
    long sights = loop->score.first_sights;

    *o = (struct loop_observed){0};
    o->refusal = record_observe(m, loop->jobs, loop->cluster,
                                status ? stable_since_s(loop, status) : 0, &o->seen, err);
    if (o->refusal != RECORD_TAKEN)
        return -1;
    if (!m->out_of_memory) {
        if (refine_is_measured(&o->seen))
            quote_score_measured(&loop->quotes, status, &o->seen);
        o->abs_log_error =
            refine_note(&loop->model, &o->seen, &loop->score, &o->expected);
        o->first_sight = loop->score.first_sights > sights;
    }
    loop_tell_model(loop, DEFERRED_ABSORB, NULL, &o->seen);
    settle(loop, status, m, o);
    o->falls_short = loop_falls_short(loop, m->job, m->at_s);
    if (o->falls_short)
        loop_want_round(loop, m->at_s);
    else
        status->mend_told = 0;
    loop_stir(loop, m->at_s);
    return 0;
}

/* ---- nodes and devices ---- */

void loop_node_is_awake(struct loop *loop, int n, double now_s)
{
    struct node *node = &loop->cluster->nodes[n];

    if (node->state != NODE_WAKING)
        return;
    node->state = NODE_AWAKE;
    node->since_s = now_s;
    if (cluster_node_jobs(loop->cluster, n) == 0)
        node->idle_since_s = now_s;
    loop_want_round(loop, now_s);
}

static void requeue_all(struct loop *loop, int device, double now_s)
{
    const struct device *d = &loop->cluster->devices[device];

    while (d->job_count > 0)
        loop_requeue(loop, d->jobs[0], now_s, NULL);
}

void loop_device_failed(struct loop *loop, int device, double now_s)
{
    requeue_all(loop, device, now_s);
    loop->cluster->devices[device].failed = true;
    loop_want_round(loop, now_s);
}

void loop_device_repaired(struct loop *loop, int device, double now_s)
{
    loop->cluster->devices[device].failed = false;
    loop->device_changed_s[device] = now_s;
    loop_want_round(loop, now_s);
}

void loop_node_failed(struct loop *loop, int n, double now_s)
{
    struct node *node = &loop->cluster->nodes[n];

    node->state = NODE_DOWN;
    node->since_s = now_s;
    for (int i = 0; i < node->device_count; i++)
        requeue_all(loop, node->first_device + i, now_s);
    loop_want_round(loop, now_s);
}

void loop_node_repaired(struct loop *loop, int n, double now_s)
{
    loop_set_node(loop, n, NODE_AWAKE, now_s);
    loop_want_round(loop, now_s);
}

void loop_set_node(struct loop *loop, int n, enum node_state state, double now_s)
{
    struct node *node = &loop->cluster->nodes[n];

    node->state = state;
    node->since_s = node->idle_since_s = now_s;
}
