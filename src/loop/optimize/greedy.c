/* greedy.c - see greedy.h */
#include "loop/optimize/greedy.h"

#include "base/mem.h"
#include "loop/cluster.h"
#include "loop/belief.h"
#include "loop/need.h"
#include "loop/optimize/choose.h"
#include "loop/optimize/plan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A node without jobs goes to sleep after this long: about what five wakes cost. */
#define IDLE_BEFORE_SLEEP_S 300.0
/* Below this belief in memory a place is not tried. */
/* A place that breaks a requirement costs this much, more the further it falls short. */
#define SHORTFALL_WATTS 1e5
/* A job is left alone this long after it was placed: measurements need time to come in.
 */
#define SETTLE_S 600.0
/* An empty node that has to be woken is charged this share of its host: others will join.
 */
#define HOST_SHARE 0.5

/* A full cluster with a long queue: after so many jobs that found no place the others
 * keep theirs in the queue until the next round. */
#define WAITING_TRIES 16

struct greedy {
    struct occupancy occupancy;
    struct choose choose;
    double *before; /* (devices) cost of a device as it is; NaN: not asked this round */
    int before_count;
};

static void *greedy_create(uint64_t seed)
{
    (void)seed; /* nothing here is drawn */
    return mem_new(struct greedy);
}

static void greedy_destroy(void *self)
{
    struct greedy *g = self;

    occupancy_fini(&g->occupancy);
    choose_fini(&g->choose);
    free(g->before);
    free(g);
}

static double confidence_of(const struct optimize_input *in, const struct job_status *job)
{
    return fmax(in->settings->confidence, job->job.need.confidence);
}

/* Watts added by a shortfall and taken off for progress, of one member of a combination.
 * devices: on how many devices' worth of progress this one decides. */
static double member_cost(const struct optimize_input *in, const struct job_status *job,
                          const struct estimate *rate, double reference, int devices)
{
    double needed = need_rate_now(job, in->now_s);
    double sure = belief_at_confidence(rate, confidence_of(in, job));
    double cost = 0;

    if (sure < needed)
        cost += SHORTFALL_WATTS * (0.2 + (needed - sure) / needed);
    if (job->job.kind == JOB_TRAINING && reference > 0)
        cost -= in->settings->progress_watts * devices * fmin(1, rate->value / reference);
    return cost;
}

/* The best rate a job is believed to reach anywhere: the unit its progress is priced in.
 */
static double reference_rate(const struct optimize_input *in, const struct job *job)
{
    double best = 0;

    for (int t = 0; t < in->cluster->type_count; t++) {
        struct prediction p = belief_alone(in->model, job, t);

        best = fmax(best, p.rate[0].value);
    }
    return best;
}

/* One job being placed.  All empty devices of a type without a
 * cap are worth the same to it. */
struct greedy_ctx {
    struct greedy *greedy;
    double reference; /* rate its progress is measured by */
    bool known[CLUSTER_MAX_TYPES];
    double empty_cost[CLUSTER_MAX_TYPES];
    double empty_fits[CLUSTER_MAX_TYPES];
};

static double device_cost(const struct occupancy *o, const struct optimize_input *in,
                          int device, const struct job_status *more, double reference,
                          double *fits)
{
    const struct job_status *const *there = occupancy_of(o, device);
    struct combination where;
    struct prediction p;
    double cost;

    occupancy_combination(o, in, device, in->cluster->devices[device].cap_watts, more,
                          &where);
    if (where.count == 0) {
        *fits = 1;
        return 0;
    }
    belief_predict(in->model, &where, &p);
    *fits = p.fits;
    cost = p.watts.value - in->cluster->types[where.type].idle_watts;
    for (int i = 0; i < where.count; i++) {
        const struct job_status *job = i < o->counts[device] ? there[i] : more;

        /* Neighbours' progress is priced against their own rate alone here: only the loss
         * that the newcomer brings matters, and it shows in the difference. */
        double unit = job == more
                          ? reference
                          : belief_alone(in->model, &job->job, where.type).rate[0].value;
        /* A neighbour's whole gang waits for this device; of the newcomer's gang the
         * other devices bring their own share. */
        cost +=
            member_cost(in, job, &p.rate[i], unit, job == more ? 1 : job->job.devices);
    }
    return cost;
}

static double node_cost(const struct occupancy *o, const struct optimize_input *in,
                        int node)
{
    const struct node *n = &in->cluster->nodes[node];

    if (o->node_jobs[node] > 0 || !in->settings->sleep)
        return 0;
    return HOST_SHARE *
               (n->host_watts + cluster_idle_watts(in->cluster, node) - n->sleep_watts) +
           (n->state == NODE_AWAKE ? 0 : 1);
}

static double cost_before(struct greedy *g, const struct optimize_input *in, int device)
{
    double fits;

    if (isnan(g->before[device]))
        g->before[device] = device_cost(&g->occupancy, in, device, NULL, 0, &fits);
    return g->before[device];
}

static double cost_after(struct greedy_ctx *ctx, const struct optimize_input *in,
                         int device, const struct job_status *job, double *fits)
{
    const struct occupancy *o = &ctx->greedy->occupancy;
    int type = in->cluster->devices[device].type;

    if (o->counts[device] > 0 || in->cluster->devices[device].cap_watts > 0)
        return device_cost(o, in, device, job, ctx->reference, fits);
    if (!ctx->known[type]) {
        ctx->empty_cost[type] =
            device_cost(o, in, device, job, ctx->reference, &ctx->empty_fits[type]);
        ctx->known[type] = true;
    }
    *fits = ctx->empty_fits[type];
    return ctx->empty_cost[type];
}

static bool greedy_score(void *ctx, const struct occupancy *o,
                         const struct optimize_input *in, const struct job_status *job,
                         int device, double *score)
{
    struct greedy_ctx *c = ctx;
    double fits, after;

    if (job->job.devices > 1 && o->counts[device] > 0)
        return false; /* a gang's slowest device sets its pace: give it devices of its own
                       */
    after = cost_after(c, in, device, job, &fits);
    if (fits < BELIEF_FITS_LEAST)
        return false;
    /* The devices of a gang share the cost of their node. */
    *score = after - cost_before(c->greedy, in, device) +
             node_cost(o, in, in->cluster->devices[device].node) / job->job.devices;
    return true;
}

/* The occupancy of these devices has changed. */
static void forget_costs(struct greedy *g, const int *devices, int count)
{
    for (int i = 0; i < count; i++)
        g->before[devices[i]] = NAN;
}

static void start_round(struct greedy *g, const struct optimize_input *in)
{
    if (g->before_count != in->cluster->device_count) {
        free(g->before);
        g->before = mem_array(double, (size_t)in->cluster->device_count);
        g->before_count = in->cluster->device_count;
    }
    for (int d = 0; d < g->before_count; d++)
        g->before[d] = NAN;
    occupancy_load(&g->occupancy, in);
}

static void seat_job(struct greedy *g, const struct optimize_input *in, struct plan *plan,
                     size_t i, const int *devices)
{
    for (int k = 0; k < in->jobs[i]->job.devices; k++)
        occupancy_add(&g->occupancy, in->cluster, devices[k], in->jobs[i]);
    forget_costs(g, devices, in->jobs[i]->job.devices);
    plan_seat(plan, i, devices, in->jobs[i]->job.devices);
}

/* Could the job keep its requirement anywhere it may run if the cluster were empty? */
static bool feasible_somewhere(const struct optimize_input *in,
                               const struct job_status *job)
{
    uint64_t allowed = job->job.types_allowed;

    for (int t = 0; t < in->cluster->type_count; t++) {
        struct prediction p;

        if (allowed && !(allowed >> t & 1))
            continue;
        p = belief_alone(in->model, &job->job, t);
        if (p.fits >= BELIEF_FITS_LEAST &&
            belief_at_confidence(&p.rate[0], confidence_of(in, job)) >=
                need_rate_now(job, in->now_s))
            return true;
    }
    return false;
}

/* True when the job got a seat. */
static bool place_waiting(struct greedy *g, const struct optimize_input *in,
                          struct plan *plan, size_t i)
{
    const struct job_status *job = in->jobs[i];
    struct greedy_ctx ctx = {.greedy = g, .reference = reference_rate(in, &job->job)};
    int devices[LOOP_MAX_GANG];
    double cost, waited = in->now_s - job->job.submitted_s;

    if (!choose_devices(&g->choose, &g->occupancy, in, job, greedy_score, &ctx, devices,
                        &cost))
        return false;
    /* Every place left breaks a promise.  Waiting is free up to the grace time if a
     * better place can come free; after that any progress is better than none. */
    if (cost > SHORTFALL_WATTS * 0.1 && waited < 0.8 * in->settings->grace_s &&
        feasible_somewhere(in, job)) {
        plan->seats[i].reason = UNPLACED_RATE;
        return false;
    }
    seat_job(g, in, plan, i, devices);
    plan->cost_watts += cost;
    return true;
}

/* Is the job believed to miss its requirement where it is? */
static bool falls_short(struct greedy *g, const struct optimize_input *in,
                        const struct job_status *job)
{
    struct combination where;
    struct prediction p;

    for (int k = 0; k < job->device_count; k++) {
        const struct job_status *const *there =
            occupancy_of(&g->occupancy, job->devices[k]);

        occupancy_combination(&g->occupancy, in, job->devices[k],
                              in->cluster->devices[job->devices[k]].cap_watts, NULL,
                              &where);
        belief_predict(in->model, &where, &p);
        for (int i = 0; i < where.count; i++)
            if (there[i] == job && p.rate[i].value < need_rate_now(job, in->now_s))
                return true;
    }
    return false;
}

/* Move a job that misses its requirement, if the estimate says that it would not
 * elsewhere. */
static void keep_or_move(struct greedy *g, const struct optimize_input *in,
                         struct plan *plan, size_t i)
{
    const struct job_status *job = in->jobs[i];
    struct greedy_ctx ctx = {.greedy = g};
    int devices[LOOP_MAX_GANG];
    double cost;

    if (!in->settings->moves || !job->job.may_move ||
        in->now_s - job->placed_s < SETTLE_S || !falls_short(g, in, job)) {
        plan_keep(plan, in, i);
        return;
    }
    for (int k = 0; k < job->device_count; k++)
        occupancy_remove(&g->occupancy, in->cluster, job->devices[k], job);
    forget_costs(g, job->devices, job->device_count);
    ctx.reference = reference_rate(in, &job->job);
    if (choose_devices(&g->choose, &g->occupancy, in, job, greedy_score, &ctx, devices,
                       &cost) &&
        cost < SHORTFALL_WATTS * 0.1) {
        seat_job(g, in, plan, i, devices);
        return;
    }
    for (int k = 0; k < job->device_count; k++)
        occupancy_add(&g->occupancy, in->cluster, job->devices[k], job);
    forget_costs(g, job->devices, job->device_count);
    plan_keep(plan, in, i);
}

static void greedy_plan(void *self, const struct optimize_input *in, struct plan *plan)
{
    struct greedy *g = self;
    int tries = WAITING_TRIES;

    plan_reset(plan, in);
    start_round(g, in);
    for (size_t i = 0; i < in->job_count; i++)
        if (in->jobs[i]->state == JOB_RUNNING)
            keep_or_move(g, in, plan, i);
    for (size_t i = 0; i < in->job_count && tries > 0; i++)
        if (in->jobs[i]->state == JOB_WAITING && !place_waiting(g, in, plan, i))
            tries--;
    plan_sleep_idle(plan, in, IDLE_BEFORE_SLEEP_S);
}

const struct planner_ops greedy_planner_ops = {
    .name = "greedy",
    .create = greedy_create,
    .plan = greedy_plan,
    .destroy = greedy_destroy,
};
