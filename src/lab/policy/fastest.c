/* fastest.c - fastest first: the free device believed to be the fastest for the job */
#include "lab/policy/in_order.h"
#include "lab/policy/policy.h"

static bool score(void *ctx, const struct occupancy *o, const struct optimize_input *in,
                  const struct job_status *job, int device, double *out)
{
    if (o->counts[device] > 0 || !in_order_fits(ctx, in, job, device))
        return false;
    /* Rates decide; the preference only breaks ties within a type. */
    *out = -in_order_rate(ctx, in, job, device) *
           (1 - 1e-9 * in_order_preference(o, in, device));
    return true;
}

static void plan(void *self, const struct optimize_input *in, struct plan *out)
{
    in_order_plan(self, in, out, &(struct in_order_rules){.score = score});
}

const struct planner_ops policy_fastest_ops = {
    .name = "fastest",
    .create = in_order_create,
    .plan = plan,
    .destroy = in_order_destroy,
};
