/* pack_blind.c - pack two: fill devices that have a job first, blind to interference */
#include "lab/policy/in_order.h"
#include "lab/policy/policy.h"

static bool score(void *ctx, const struct occupancy *o, const struct optimize_input *in,
                  const struct job_status *job, int device, double *out)
{
    if (!in_order_fits(ctx, in, job, device))
        return false;
    /* A gang beside others would be slowed by the slowest of them: give it free devices.
     */
    if (job->job.devices > 1 && o->counts[device] > 0)
        return false;
    *out = in_order_preference(o, in, device) + (o->counts[device] > 0 ? 0 : 1e7);
    return true;
}

static void plan(void *self, const struct optimize_input *in, struct plan *out)
{
    in_order_plan(self, in, out, &(struct in_order_rules){.score = score});
}

const struct planner_ops policy_pack_blind_ops = {
    .name = "pack-blind",
    .create = in_order_create,
    .plan = plan,
    .destroy = in_order_destroy,
};
