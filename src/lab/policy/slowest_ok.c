/* slowest_ok.c - the slowest type that is believed to meet the requirement
 *
 * Keeps fast devices free for jobs that need them.  Jobs measured to fall short move up.
 */
#include "lab/policy/in_order.h"
#include "lab/policy/policy.h"

static bool score(void *ctx, const struct occupancy *o, const struct optimize_input *in,
                  const struct job_status *job, int device, double *out)
{
    double rate, tie, missing;

    if (o->counts[device] > 0 || !in_order_fits(ctx, in, job, device))
        return false;
    rate = in_order_rate(ctx, in, job, device);
    tie = 1e-9 * in_order_preference(o, in, device);
    missing = in_order_shortfall(ctx, in, job, device);
    *out = rate * (1 + tie);
    if (missing <= 0)
        return true;
    *out = IN_ORDER_BROKEN * (1 + missing) + tie;
    return in_order_may_break(ctx, in, job);
}

static void plan(void *self, const struct optimize_input *in, struct plan *out)
{
    in_order_plan(
        self, in, out,
        &(struct in_order_rules){.score = score, .backfill = true, .mend = true});
}

const struct planner_ops policy_slowest_ok_ops = {
    .name = "slowest-ok",
    .create = in_order_create,
    .plan = plan,
    .destroy = in_order_destroy,
};
