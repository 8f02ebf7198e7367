/* device_caps.c - in_order.c and gavel_policy.c ask it when everybody has a seat, scores
 * before */
#include "lab/policy/device_caps.h"

#include "loop/estimate/predict.h"
#include "loop/optimize/plan.h"
#include "loop/recent_rate.h"
#include "loop/requirement.h"
#include "world/power.h"

#include <math.h>

/* What a limit leaves above the requirement: windows are noisy. */
#define MARGIN 1.02

struct device_cap device_cap_best(const struct gpu_sheet *gpu, double watts,
                                  double slowest, double host_watts, bool progress)
{
    struct device_cap best = {.watts = watts, .speed = 1};
    double levels[PLAN_CAPS_MOST], busy = power_busy(gpu, watts);
    double least = watts + host_watts;
    int count = plan_cap_levels(gpu, levels);

    for (int c = 1; c < count; c++) {
        struct power_capped run = power_under_cap(gpu, busy, levels[c]);
        double cost = (fmin(run.watts, watts) + host_watts) / (progress ? run.speed : 1);

        if (run.speed < slowest || cost >= least)
            continue;
        least = cost;
        best = (struct device_cap){levels[c], fmin(run.watts, watts), run.speed};
    }
    return best;
}

/* What a service may be asked for at its peak: none of these policies follows demand. */
static double needed(const struct optimize_input *in, const struct job_status *job)
{
    return job->job.need.kind == NEED_SERVICE ? job->job.need.rate
                                              : requirement_rate_now(job, in->now_s);
}

struct device_cap device_cap_of(const struct optimize_input *in, int device,
                                const struct job_status *const *jobs, int count,
                                const struct prediction *p,
                                const struct device_cap_rule *rule)
{
    const struct device *d = &in->cluster->devices[device];
    const struct gpu_sheet *gpu = &in->cluster->types[d->type];
    const struct node *node = &in->cluster->nodes[d->node];
    double slowest = rule->slowest;
    bool progress = false;

    for (int i = 0; i < count; i++) {
        double confidence = fmax(in->settings->confidence, jobs[i]->job.need.confidence);

        slowest = fmax(slowest, MARGIN * needed(in, jobs[i]) /
                                    estimate_at_confidence(&p->rate[i], confidence));
        progress = progress || jobs[i]->job.kind == JOB_TRAINING;
    }
    return device_cap_best(gpu, p->watts.value, slowest,
                           rule->against_peak ? gpu->tdp_watts
                                              : node->host_watts / node->device_count,
                           progress);
}

void device_caps_write(const struct occupancy *o, const struct optimize_input *in,
                       struct plan *plan, const struct device_cap_rule *rule)
{
    if (!in->settings->caps)
        return;
    for (int d = 0; d < in->cluster->device_count; d++) {
        struct combination where;
        struct prediction p;

        plan->cap_watts[d] = 0;
        if (o->counts[d] == 0)
            continue;
        occupancy_combination(o, in, d, 0, NULL, &where);
        predict(in->model, &where, &p);
        plan->cap_watts[d] =
            device_cap_of(in, d, occupancy_of(o, d), o->counts[d], &p, rule).cap_watts;
    }
}
