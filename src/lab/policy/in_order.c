/* in_order.c - the round of policies that serve the queue in order: score_policies.c
 * and slurm_like.c bring the score */
#include "lab/policy/in_order.h"

#include "base/mem.h"
#include "loop/estimate/predict.h"
#include "loop/cluster.h"
#include "loop/requirement.h"
#include "loop/optimize/plan.h"
#include "loop/queue_order.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define IDLE_BEFORE_SLEEP_S 300.0
#define STREAM_POLICY       31
/* Waiting for a place that keeps the promise ends at this share of the grace time. */
#define PATIENCE 0.8
/* A job is left alone this long after it was placed: measurements need time. */
#define SETTLE_S 600.0
/* A full cluster with a long queue: after so many jobs that found no place the others
 * keep theirs in the queue. */
#define BACKFILL_TRIES 64
/* A job on several devices that has waited this long is overtaken no more. */
#define OVERTAKEN_MAX_S 3600.0

struct in_order {
    struct occupancy occupancy;
    struct choose choose;
    struct rng rng;
    int last_node;
    uint64_t job; /* the beliefs below are of this one */
    bool asked[CLUSTER_MAX_TYPES];
    struct prediction alone[CLUSTER_MAX_TYPES];
};

void *in_order_create(uint64_t seed)
{
    struct in_order *o = mem_new(struct in_order);

    rng_stream(&o->rng, seed, STREAM_POLICY);
    o->last_node = -1;
    return o;
}

void in_order_destroy(void *self)
{
    struct in_order *o = self;

    occupancy_fini(&o->occupancy);
    choose_fini(&o->choose);
    free(o);
}

struct rng *in_order_rng(struct in_order *o)
{
    return &o->rng;
}

int in_order_last_node(const struct in_order *o)
{
    return o->last_node;
}

static const struct prediction *believed(struct in_order *o,
                                         const struct optimize_input *in,
                                         const struct job_status *job, int type)
{
    if (o->job != job->job.id) {
        o->job = job->job.id;
        memset(o->asked, 0, sizeof(o->asked));
    }
    if (!o->asked[type]) {
        o->alone[type] = predict_alone_now(in->model, job, type);
        o->asked[type] = true;
    }
    return &o->alone[type];
}

const struct prediction *in_order_alone(struct in_order *o,
                                        const struct optimize_input *in,
                                        const struct job_status *job, int device)
{
    return believed(o, in, job, in->cluster->devices[device].type);
}

double in_order_rate(struct in_order *o, const struct optimize_input *in,
                     const struct job_status *job, int device)
{
    return in_order_alone(o, in, job, device)->rate[0].value;
}

bool in_order_fits(struct in_order *o, const struct optimize_input *in,
                   const struct job_status *job, int device)
{
    struct combination where;
    struct prediction together;

    if (in_order_alone(o, in, job, device)->fits < PREDICT_FITS_LEAST)
        return false;
    if (o->occupancy.counts[device] == 0)
        return true;
    occupancy_combination(&o->occupancy, in, device, 0, job, &where);
    predict(in->model, &where, &together);
    return together.fits >= PREDICT_FITS_LEAST;
}

double in_order_needed(const struct optimize_input *in, const struct job_status *job)
{
    if (job->job.need.kind == NEED_SERVICE)
        return job->job.need.rate;
    return requirement_rate_now(job, in->now_s);
}

static double shortfall(struct in_order *o, const struct optimize_input *in,
                        const struct job_status *job, int type)
{
    double needed = in_order_needed(in, job);
    double confidence = fmax(in->settings->confidence, job->job.need.confidence);
    double sure =
        estimate_at_confidence(&believed(o, in, job, type)->rate[0], confidence);

    return sure < needed ? (needed - sure) / needed : 0;
}

double in_order_shortfall(struct in_order *o, const struct optimize_input *in,
                          const struct job_status *job, int device)
{
    return shortfall(o, in, job, in->cluster->devices[device].type);
}

bool in_order_may_break(struct in_order *o, const struct optimize_input *in,
                        const struct job_status *job)
{
    if (in->now_s - job->job.submitted_s >= PATIENCE * in->settings->grace_s)
        return true;
    for (int t = 0; t < in->cluster->type_count; t++)
        if (believed(o, in, job, t)->fits >= PREDICT_FITS_LEAST &&
            shortfall(o, in, job, t) <= 0)
            return false;
    return true;
}

double in_order_preference(const struct occupancy *occupancy,
                           const struct optimize_input *in, int device)
{
    int node = in->cluster->devices[device].node;
    /* Nodes are listed type by type: a fixed shuffle keeps first fit from preferring the
     * type that happens to come first. */
    double preference = (double)(rng_mix((uint64_t)node, 1) % 1000000) +
                        1e-3 * (device - in->cluster->nodes[node].first_device);

    if (in->settings->sleep) {
        if (in->cluster->nodes[node].state == NODE_ASLEEP)
            preference += 2e6;
        if (occupancy->node_jobs[node] == 0)
            preference += 1e6;
    }
    return preference;
}

static bool choose(struct in_order *o, const struct optimize_input *in,
                   const struct in_order_rules *rules, const struct job_status *job,
                   int *devices, double *total)
{
    return choose_devices(&o->choose, &o->occupancy, in, job, rules->score,
                          rules->ctx ? rules->ctx : o, devices, total);
}

static void seat(struct in_order *o, const struct optimize_input *in, struct plan *plan,
                 size_t i, const int *devices)
{
    for (int k = 0; k < in->jobs[i]->job.devices; k++)
        occupancy_add(&o->occupancy, in->cluster, devices[k], in->jobs[i]);
    o->last_node = in->cluster->devices[devices[0]].node;
    plan_seat(plan, i, devices, in->jobs[i]->job.devices);
}

/* Is the rate a job has where it is believed to be too low? */
static bool falls_short(struct in_order *o, const struct optimize_input *in,
                        const struct job_status *job)
{
    struct combination where;
    struct prediction p;

    occupancy_combination(&o->occupancy, in, job->devices[0], 0, NULL, &where);
    predict(in->model, &where, &p);
    for (int i = 0; i < where.count; i++)
        if (where.members[i].job->id == job->job.id)
            return p.rate[i].value < requirement_rate_now(job, in->now_s);
    return false;
}

static void keep_or_mend(struct in_order *o, const struct optimize_input *in,
                         struct plan *plan, const struct in_order_rules *rules, size_t i)
{
    const struct job_status *job = in->jobs[i];
    int devices[LOOP_MAX_GANG];
    double total;

    if (!rules->mend || !in->settings->moves || !job->job.may_move ||
        in->now_s - job->placed_s < SETTLE_S || !falls_short(o, in, job)) {
        plan_keep(plan, in, i);
        return;
    }
    for (int k = 0; k < job->device_count; k++)
        occupancy_remove(&o->occupancy, in->cluster, job->devices[k], job);
    if (choose(o, in, rules, job, devices, &total) && total < IN_ORDER_BROKEN) {
        seat(o, in, plan, i, devices);
        return;
    }
    for (int k = 0; k < job->device_count; k++)
        occupancy_add(&o->occupancy, in->cluster, job->devices[k], job);
    plan_keep(plan, in, i);
}

/* Does a job without a place end the round for those behind it? */
static bool holds_up(const struct optimize_input *in, const struct in_order_rules *rules,
                     const struct job_status *job, int *tries)
{
    if (!rules->backfill || --*tries <= 0)
        return true;
    return job->job.devices > 1 && in->now_s - job->job.submitted_s > OVERTAKEN_MAX_S;
}

/* Priorities and shares order the queue as they do for Corgi. */
static void seat_waiting(struct in_order *o, const struct optimize_input *in,
                         struct plan *plan, const struct in_order_rules *rules)
{
    size_t *order = mem_array(size_t, in->job_count + 1);
    size_t count = queue_order(in, in->job_count, order);
    int tries = BACKFILL_TRIES;
    bool blocked = false;

    for (size_t k = 0; k < count; k++) {
        int devices[LOOP_MAX_GANG];
        size_t i = order[k];
        double total;

        if (!blocked && choose(o, in, rules, in->jobs[i], devices, &total)) {
            seat(o, in, plan, i, devices);
            continue;
        }
        plan->seats[i].reason = UNPLACED_POLICY;
        blocked = blocked || holds_up(in, rules, in->jobs[i], &tries);
    }
    free(order);
}

void in_order_plan(void *self, const struct optimize_input *in, struct plan *plan,
                   const struct in_order_rules *rules)
{
    struct in_order *o = self;

    plan_reset(plan, in);
    occupancy_load(&o->occupancy, in);
    o->job = 0; /* beliefs change between rounds */
    for (size_t i = 0; i < in->job_count; i++)
        if (in->jobs[i]->state == JOB_RUNNING)
            keep_or_mend(o, in, plan, rules, i);
    seat_waiting(o, in, plan, rules);
    if (rules->caps)
        device_caps_write(&o->occupancy, in, plan, rules->caps);
    plan_sleep_idle(plan, in, IDLE_BEFORE_SLEEP_S);
}
