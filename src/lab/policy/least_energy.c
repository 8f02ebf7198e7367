/* least_energy.c - the free device on which the job costs the least energy
 *
 * One job a device, type by type the watts of device and host for the time the work takes
 * there; devices that break the requirement only when there is no other.  With sleep it
 * prefers nodes in use: an empty one would stay awake for this job alone.  The strongest
 * of the policies that do not share devices. */
#include "lab/policy/in_order.h"
#include "lab/policy/policy.h"

/* A job that wakes a node pays this many times its share of the host: until others join
 * it keeps the whole node awake. */
#define EMPTY_NODE_FACTOR 1.5

/* What the node costs more because of one more job on one of its devices. */
static double node_watts(const struct occupancy *o, const struct optimize_input *in,
                         int device)
{
    int n = in->cluster->devices[device].node;
    const struct node *node = &in->cluster->nodes[n];
    double idle = in->cluster->types[in->cluster->devices[device].type].idle_watts;

    if (!in->settings->sleep)
        return -idle; /* host and idle draw are there anyway */
    return node->host_watts / node->device_count *
           (o->node_jobs[n] == 0 ? EMPTY_NODE_FACTOR : 1);
}

static bool score(void *ctx, const struct occupancy *o, const struct optimize_input *in,
                  const struct job_status *job, int device, double *out)
{
    double watts, missing;

    if (o->counts[device] > 0 || !in_order_fits(ctx, in, job, device))
        return false;
    watts = in_order_alone(ctx, in, job, device)->watts.value + node_watts(o, in, device);
    *out = watts * (1 + 1e-12 * in_order_preference(o, in, device));
    /* A service runs as long as it is wanted; training ends the sooner the faster. */
    if (job->job.kind == JOB_TRAINING)
        *out *= in_order_needed(in, job) > 0
                    ? in_order_needed(in, job) / in_order_rate(ctx, in, job, device)
                    : 1 / in_order_rate(ctx, in, job, device);
    missing = in_order_shortfall(ctx, in, job, device);
    if (missing <= 0)
        return true;
    *out += IN_ORDER_BROKEN * (1 + missing);
    return in_order_may_break(ctx, in, job);
}

static void plan(void *self, const struct optimize_input *in, struct plan *out)
{
    in_order_plan(
        self, in, out,
        &(struct in_order_rules){.score = score, .backfill = true, .mend = true});
}

const struct planner_ops policy_least_energy_ops = {
    .name = "least-energy",
    .create = in_order_create,
    .plan = plan,
    .destroy = in_order_destroy,
};
