/* loop.c - see loop.h */
#include "loop/loop.h"

#include "base/mem.h"
#include "loop/cluster.h"
#include "loop/loop_admin.h"
#include "loop/optimize/plan.h"
#include "loop/requirement.h"
#include "loop/recent_rate.h"
#include "loop/place/place.h"
#include "loop/record/record.h"
#include "loop/loop_private.h"
#include "model/prediction_cache.h"

#include <math.h>
#include <stdlib.h>

/* Demand may grow by this much before the next round without a broken promise. */
#define DEMAND_HEADROOM 1.25

struct loop *loop_create_take(const struct loop_options *options, struct cluster *cluster,
                              struct model model, const struct planner_ops *planner)
{
    struct loop *loop = mem_new(struct loop);

    loop->settings = options->settings;
    loop->cluster = cluster;
    loop->model = model;
    loop->model.cache = prediction_cache_create(PREDICTION_CACHE_ROWS);
    loop->planner =
        (struct planner){.ops = planner, .self = planner->create(options->seed)};
    loop->jobs = jobs_create();
    loop->device_changed_s = mem_array(double, (size_t)cluster->device_count);
    loop->uncapped_until_s = mem_array(double, (size_t)cluster->device_count);
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
    prediction_cache_destroy(loop->model.cache);
    loop->model.ops->destroy(loop->model.self);
    jobs_destroy(loop->jobs);
    cluster_destroy(loop->cluster);
    plan_fini(&loop->plan);
    vec_free(&loop->actions);
    vec_free(&loop->ready);
    free(loop->device_changed_s);
    free(loop->uncapped_until_s);
    free(loop->fixed_cap_watts);
    free(loop);
}

int loop_submit(struct loop *loop, const struct job *job, struct admission *answer,
                struct err *err)
{
    if (jobs_get(loop->jobs, job->id))
        return err_set(err, ERR_EXISTS, "job %llu exists already",
                       (unsigned long long)job->id);
    if (admit_check(job, loop->cluster, err) < 0)
        return -1;
    loop->model.ops->begin(loop->model.self, job);
    admit_decide(job, loop->cluster, &loop->model, &loop->settings, answer);
    if (answer->verdict == ADMIT_REFUSED)
        loop->model.ops->end(loop->model.self, job);
    else
        jobs_add(loop->jobs, job);
    return 0;
}

int loop_find(struct loop *loop, uint64_t id, struct job_status **status, struct err *err)
{
    *status = jobs_get(loop->jobs, id);
    if (!*status)
        return err_set(err, ERR_NOT_FOUND, "there is no job %llu",
                       (unsigned long long)id);
    return 0;
}

void loop_leave_devices(struct loop *loop, struct job_status *status, double now_s)
{
    for (int i = 0; i < status->device_count; i++) {
        cluster_leave(loop->cluster, status->devices[i], status->job.id, now_s);
        loop->device_changed_s[status->devices[i]] = now_s;
    }
    status->device_count = 0;
}

int loop_end_job(struct loop *loop, uint64_t id, double now_s, struct err *err)
{
    struct job_status *status;

    if (loop_find(loop, id, &status, err) < 0)
        return -1;
    loop_leave_devices(loop, status, now_s);
    loop->model.ops->end(loop->model.self, &status->job);
    jobs_drop(loop->jobs, id);
    return 0;
}

int loop_requeue(struct loop *loop, uint64_t id, double now_s, struct err *err)
{
    struct job_status *status;

    if (loop_find(loop, id, &status, err) < 0)
        return -1;
    loop_leave_devices(loop, status, now_s);
    status->state = JOB_WAITING;
    status->restarts++;
    return 0;
}

int loop_set_demand(struct loop *loop, uint64_t id, double rate, struct err *err)
{
    struct job_status *status;

    if (!isfinite(rate) || rate < 0)
        return err_set(err, ERR_INVALID, "a demand cannot be %g requests/s", rate);
    if (loop_find(loop, id, &status, err) < 0)
        return -1;
    status->demand = fmin(status->job.need.rate, rate);
    status->required_rate = fmin(status->job.need.rate, rate * DEMAND_HEADROOM);
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

int loop_measure(struct loop *loop, const struct measurement *m, struct err *err)
{
    struct observation seen;

    if (loop_observe(loop, m, &seen, err) < 0)
        return -1;
    refine_absorb(&loop->model, &seen, &loop->score);
    recent_rate_note(jobs_get(loop->jobs, m->job), loop->cluster, m);
    return 0;
}

bool loop_falls_short(struct loop *loop, uint64_t id, double now_s)
{
    const struct job_status *status = jobs_get(loop->jobs, id);

    return status && status->state == JOB_RUNNING &&
           recent_rate_known(status, loop->cluster) &&
           status->pace.rate < requirement_rate_kept(status, now_s);
}

void loop_node_is_awake(struct loop *loop, int n, double now_s)
{
    struct node *node = &loop->cluster->nodes[n];

    if (node->state != NODE_WAKING)
        return;
    node->state = NODE_AWAKE;
    node->since_s = now_s;
    if (cluster_node_jobs(loop->cluster, n) == 0)
        node->idle_since_s = now_s;
}

void loop_node_failed(struct loop *loop, int n, double now_s)
{
    struct node *node = &loop->cluster->nodes[n];

    node->state = NODE_DOWN;
    node->since_s = now_s;
    for (int i = 0; i < node->device_count; i++) {
        struct device *d = &loop->cluster->devices[node->first_device + i];

        while (d->job_count > 0)
            loop_requeue(loop, d->jobs[0], now_s, NULL);
    }
}

void loop_node_repaired(struct loop *loop, int n, double now_s)
{
    struct node *node = &loop->cluster->nodes[n];

    node->state = NODE_AWAKE;
    node->since_s = node->idle_since_s = now_s;
}

static void note_changes(struct loop *loop, double now_s)
{
    vec_each (struct action, action, &loop->actions) {
        if (action->kind == ACTION_CAP)
            loop->device_changed_s[action->device] = now_s;
        for (int i = 0; i < action->device_count; i++)
            loop->device_changed_s[action->devices[i]] = now_s;
    }
}

/* Devices a job is about to leave change too, and only the plan knows them. */
static void note_departures(struct loop *loop, double now_s)
{
    for (size_t i = 0; i < loop->plan.seat_count; i++) {
        const struct seat *seat = &loop->plan.seats[i];
        const struct job_status *status = jobs_get(loop->jobs, seat->job);

        for (int k = 0; k < status->device_count; k++) {
            bool stays = false;

            for (int m = 0; m < seat->device_count && !stays; m++)
                stays = loop->plan.devices[seat->first + m] == status->devices[k];
            if (!stays)
                loop->device_changed_s[status->devices[k]] = now_s;
        }
    }
}

struct optimize_input loop_input(struct loop *loop, double now_s)
{
    size_t count;
    const struct job_status *const *active = jobs_active(loop->jobs, &count);

    vec_clear(&loop->ready);
    for (size_t i = 0; i < count; i++)
        if (!active[i]->held || active[i]->state == JOB_RUNNING)
            vec_push(&loop->ready, active[i]);
    return loop_input_of_ready(loop, now_s);
}

struct optimize_input loop_input_of_ready(struct loop *loop, double now_s)
{
    return (struct optimize_input){
        .now_s = now_s,
        .cluster = loop->cluster,
        .job_count = loop->ready.count,
        .jobs = loop->ready.items,
        .model = &loop->model,
        .settings = &loop->settings,
    };
}

/* A word of the operator goes before the guard's, the guard's before the plan's. */
static void overrule_caps(struct loop *loop, double now_s)
{
    for (int d = 0; d < loop->cluster->device_count; d++) {
        if (now_s < loop->uncapped_until_s[d])
            loop->plan.cap_watts[d] = 0;
        if (!isnan(loop->fixed_cap_watts[d]))
            loop->plan.cap_watts[d] = loop->fixed_cap_watts[d];
    }
}

int loop_carry_out(struct loop *loop, const struct optimize_input *in,
                   const struct action **actions, size_t *count, struct err *err)
{
    overrule_caps(loop, in->now_s);
    if (place_check(in, &loop->plan, err) < 0)
        return err_prefix(err, "planner %s", loop->planner.ops->name);
    note_departures(loop, in->now_s);
    vec_clear(&loop->actions);
    place_apply(in, &loop->plan, loop->jobs, loop->cluster, &loop->actions);
    note_changes(loop, in->now_s);
    *actions = loop->actions.items;
    *count = loop->actions.count;
    return 0;
}

int loop_round(struct loop *loop, double now_s, const struct action **actions,
               size_t *count, struct err *err)
{
    struct optimize_input in = loop_input(loop, now_s);

    loop->planner.ops->plan(loop->planner.self, &in, &loop->plan);
    return loop_carry_out(loop, &in, actions, count, err);
}

const struct cluster *loop_cluster(const struct loop *loop)
{
    return loop->cluster;
}

const struct job_status *loop_job(struct loop *loop, uint64_t id)
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

const struct plan *loop_plan(const struct loop *loop)
{
    return &loop->plan;
}

struct model *loop_model(struct loop *loop)
{
    return &loop->model;
}
