/* round_robin.c - first in, first out, each job on the node after the last one's */
#include "lab/policy/in_order.h"
#include "lab/policy/policy.h"

static bool score(void *ctx, const struct occupancy *o, const struct optimize_input *in,
                  const struct job_status *job, int device, double *out)
{
    int nodes = in->cluster->node_count;
    int node = in->cluster->devices[device].node;
    int steps = (node - in_order_last_node(ctx) - 1 + nodes) % nodes;

    if (o->counts[device] > 0 || !in_order_fits(ctx, in, job, device))
        return false;
    /* The nearest node decides, on it the first device. */
    *out = (double)steps + (double)device / (in->cluster->device_count + 1.0);
    return true;
}

static void plan(void *self, const struct optimize_input *in, struct plan *out)
{
    in_order_plan(self, in, out, &(struct in_order_rules){.score = score});
}

const struct planner_ops policy_round_robin_ops = {
    .name = "round-robin",
    .create = in_order_create,
    .plan = plan,
    .destroy = in_order_destroy,
};
