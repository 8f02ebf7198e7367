/* audit_plan.c - any planner's plan judged without the planner: sim_check.c calls it
 * in `corgi sim --check`, tests call it on plans they spoil */
#include "lab/sim/audit_plan.h"

#include "base/mem.h"
#include "loop/estimate/predict.h"
#include "loop/cluster.h"
#include "loop/requirement.h"
#include "world/power.h"

#include <math.h>
#include <stdlib.h>

/* Predictions and caps go through floats and steps on their way into a plan. */
#define NEARLY 0.99

struct crowd {
    int count;
    int job[LOOP_MAX_SHARE]; /* index in the input */
};

struct reckoning {
    const struct optimize_input *in;
    const struct plan *plan;
    struct audit *audit;
    struct crowd *crowds; /* (devices) */
    double *rate;         /* (jobs) least over its devices, at its confidence */
};

static int gather(struct reckoning *r, struct err *err)
{
    for (size_t j = 0; j < r->in->job_count; j++) {
        const struct seat *seat = &r->plan->seats[j];

        if (!isfinite(seat->rate) || !isfinite(seat->watts) || seat->rate < 0)
            return err_set(err, ERR_FORMAT, "seat %zu has figures that are none", j);
        if (seat->device_count == 0 && seat->reason == UNPLACED_NONE)
            return err_set(err, ERR_INVALID, "job %llu waits and nobody says why",
                           (unsigned long long)seat->job);
        for (int e = 0; e < seat->device_count; e++) {
            struct crowd *crowd = &r->crowds[r->plan->devices[seat->first + e]];

            if (crowd->count == LOOP_MAX_SHARE)
                return err_set(err, ERR_INVALID, "device %d has more than %d jobs",
                               r->plan->devices[seat->first + e], LOOP_MAX_SHARE);
            crowd->job[crowd->count++] = (int)j;
        }
        r->audit->served += seat->device_count > 0;
        r->audit->waiting += seat->device_count == 0;
    }
    return 0;
}

static double confidence_of(const struct reckoning *r, int job)
{
    return fmax(r->in->settings->confidence, r->in->jobs[job]->job.need.confidence);
}

/* Ask what would happen on this device, and note it for its jobs. */
static void ask(struct reckoning *r, int device)
{
    const struct cluster *cluster = r->in->cluster;
    const struct crowd *crowd = &r->crowds[device];
    const struct gpu_sheet *gpu = &cluster->types[cluster->devices[device].type];
    struct combination where = {.type = cluster->devices[device].type,
                                .count = crowd->count};
    struct power_capped run;
    struct prediction p;

    for (int e = 0; e < crowd->count; e++) {
        const struct seat *seat = &r->plan->seats[crowd->job[e]];

        where.members[e] =
            (struct member){&r->in->jobs[crowd->job[e]]->job,
                            cluster_nodes_spanned(cluster, &r->plan->devices[seat->first],
                                                  seat->device_count),
                            requirement_demand(r->in->jobs[crowd->job[e]])};
    }
    predict(r->in->model, &where, &p);
    run =
        power_under_cap(gpu, power_busy(gpu, p.watts.value), r->plan->cap_watts[device]);
    if (r->plan->cap_watts[device] <= 0)
        run = (struct power_capped){p.watts.value, 1};
    r->audit->device_watts += fmin(run.watts, p.watts.value);
    for (int e = 0; e < crowd->count; e++) {
        int j = crowd->job[e];
        double rate = estimate_at_confidence(&p.rate[e], confidence_of(r, j)) * run.speed;

        r->rate[j] = fmin(r->rate[j], rate);
    }
    r->audit->unlikely_to_fit += p.fits < 0.5;
}

static int reckon_devices(struct reckoning *r, struct err *err)
{
    for (int d = 0; d < r->in->cluster->device_count; d++) {
        double cap = r->plan->cap_watts[d];

        if (cap > 0 && cap != r->in->cluster->devices[d].cap_watts &&
            !r->in->settings->caps)
            return err_set(err, ERR_INVALID, "device %d is capped, caps are off", d);
        if (r->crowds[d].count > 0)
            ask(r, d);
        else if (r->plan->awake[r->in->cluster->devices[d].node])
            r->audit->idle_watts +=
                r->in->cluster->types[r->in->cluster->devices[d].type].idle_watts;
    }
    return 0;
}

static int reckon_nodes(struct reckoning *r, struct err *err)
{
    for (int n = 0; n < r->in->cluster->node_count; n++) {
        const struct node *node = &r->in->cluster->nodes[n];
        bool put_to_sleep = !r->plan->awake[n] && node->state == NODE_AWAKE;
        int jobs = 0;

        for (int d = node->first_device; d < node->first_device + node->device_count; d++)
            jobs += r->crowds[d].count;
        if (jobs > 0 && !r->plan->awake[n])
            return err_set(err, ERR_INVALID, "node %d sleeps under %d jobs", n, jobs);
        if (put_to_sleep && (!r->in->settings->sleep || !node->may_sleep))
            return err_set(err, ERR_INVALID, "node %d is put to sleep and may not", n);
        r->audit->host_watts += r->plan->awake[n] ? node->host_watts : node->sleep_watts;
    }
    return 0;
}

static void reckon_needs(struct reckoning *r)
{
    for (size_t j = 0; j < r->in->job_count; j++) {
        const struct job_status *status = r->in->jobs[j];

        if (r->plan->seats[j].device_count == 0 ||
            r->rate[j] >= NEARLY * requirement_rate_now(status, r->in->now_s))
            continue;
        if (r->audit->needs_missed++ == 0)
            r->audit->missed = status->job.id;
    }
}

int audit_plan(const struct optimize_input *in, const struct plan *plan,
               struct audit *audit, struct err *err)
{
    struct reckoning r = {.in = in, .plan = plan, .audit = audit};
    double limit = power_schedule_at(&in->settings->power_limit, in->now_s);
    int rc = -1;

    *audit = (struct audit){0};
    if (plan->seat_count != in->job_count)
        return err_set(err, ERR_INVALID, "the plan has %zu seats for %zu jobs",
                       plan->seat_count, in->job_count);
    r.crowds = mem_array(struct crowd, (size_t)in->cluster->device_count);
    r.rate = mem_array(double, in->job_count + 1);
    for (size_t j = 0; j < in->job_count; j++)
        r.rate[j] = INFINITY;
    if (gather(&r, err) < 0 || reckon_devices(&r, err) < 0 || reckon_nodes(&r, err) < 0)
        goto done;
    reckon_needs(&r);
    audit->over_limit =
        limit > 0 &&
        NEARLY * (audit->device_watts + audit->idle_watts + audit->host_watts) > limit;
    rc = 0;
done:
    free(r.crowds);
    free(r.rate);
    return rc;
}
