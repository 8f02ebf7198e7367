/* random.c - first in, first out, on any free device */
#include "lab/policy/in_order.h"
#include "lab/policy/policy.h"

static bool score(void *ctx, const struct occupancy *o, const struct optimize_input *in,
                  const struct job_status *job, int device, double *out)
{
    if (o->counts[device] > 0 || !in_order_fits(ctx, in, job, device))
        return false;
    *out = rng_uniform(in_order_rng(ctx));
    return true;
}

static void plan(void *self, const struct optimize_input *in, struct plan *out)
{
    in_order_plan(self, in, out, &(struct in_order_rules){.score = score});
}

const struct planner_ops policy_random_ops = {
    .name = "random",
    .create = in_order_create,
    .plan = plan,
    .destroy = in_order_destroy,
};
