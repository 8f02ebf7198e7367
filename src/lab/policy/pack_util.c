/* pack_util.c - pack by predicted utilisation, blind to interference
 *
 * Jobs share a device when their draws above idle, each as predicted alone, add up to no
 * more than the card can draw: what dashboards show, and what many packers go by.  It
 * knows what a job does alone and nothing of what jobs do to each other. */
#include "loop/estimate/predict.h"
#include "lab/policy/in_order.h"
#include "lab/policy/policy.h"

#include <math.h>

static double busy(const struct gpu_sheet *gpu, const struct prediction *p)
{
    return fmax(0, p->watts.value - gpu->idle_watts) / (gpu->tdp_watts - gpu->idle_watts);
}

static double busy_there(const struct occupancy *o, const struct optimize_input *in,
                         int device)
{
    const struct job_status *const *there = occupancy_of(o, device);
    int type = in->cluster->devices[device].type;
    double sum = 0;

    for (int i = 0; i < o->counts[device]; i++) {
        struct prediction p = predict_alone_now(in->model, there[i], type);

        sum += busy(&in->cluster->types[type], &p);
    }
    return sum;
}

static bool score(void *ctx, const struct occupancy *o, const struct optimize_input *in,
                  const struct job_status *job, int device, double *out)
{
    const struct gpu_sheet *gpu = &in->cluster->types[in->cluster->devices[device].type];
    const struct prediction *alone = in_order_alone(ctx, in, job, device);
    double missing = in_order_shortfall(ctx, in, job, device);

    if (o->counts[device] > 0 &&
        (job->job.devices > 1 || busy(gpu, alone) + busy_there(o, in, device) > 1))
        return false;
    if (!in_order_fits(ctx, in, job, device))
        return false;
    /* The fastest type, on it a device in use, else the usual preference. */
    *out = -alone->rate[0].value * (1 - 1e-9 * in_order_preference(o, in, device) -
                                    (o->counts[device] > 0 ? 0 : 1e-2));
    if (missing <= 0)
        return true;
    *out += IN_ORDER_BROKEN * (1 + missing);
    return in_order_may_break(ctx, in, job);
}

static void plan(void *self, const struct optimize_input *in, struct plan *out)
{
    in_order_plan(self, in, out,
                  &(struct in_order_rules){.score = score, .backfill = true});
}

const struct planner_ops policy_pack_util_ops = {
    .name = "pack-util",
    .create = in_order_create,
    .plan = plan,
    .destroy = in_order_destroy,
};
