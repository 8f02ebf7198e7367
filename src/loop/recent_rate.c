/* recent_rate.c - loop_measure() notes each window, planners read what it comes to */
#include "loop/recent_rate.h"

#include "base/rng.h"
#include "loop/requirement.h"
#include "model/queueing.h"

#include <math.h>

/* The newest window weighs at least this much: noise is smoothed, change is seen. */
#define NEWEST_WEIGHT 0.25

static uint64_t company_of(const struct job_status *status, const struct cluster *cluster)
{
    uint64_t others = 0;

    for (int k = 0; k < status->device_count; k++) {
        const struct device *dev = &cluster->devices[status->devices[k]];

        for (int i = 0; i < dev->job_count; i++)
            if (dev->jobs[i] != status->job.id)
                others += rng_mix(dev->jobs[i], 1); /* their order does not matter */
        others += rng_mix((uint64_t)status->devices[k], 2);
    }
    return others;
}

/* Of a service that asked for a latency only what it does within that counts.  What was
 * measured of the latency itself says more than what follows from a rate. */
static double useful_rate(const struct job_status *status, const struct measurement *m)
{
    double limit_s = status->job.need.latency_s;

    if (!(limit_s > 0) || !(m->latency_s > 0))
        return queueing_useful(&status->job, m->rate);
    if (m->latency_s <= limit_s)
        return m->rate;
    return fmin(m->rate, requirement_demand(status)) * limit_s / m->latency_s;
}

void recent_rate_note(struct job_status *status, const struct cluster *cluster,
                      const struct measurement *m)
{
    uint64_t company = company_of(status, cluster);
    double cap_watts = cluster->devices[status->devices[0]].cap_watts;
    struct recent_rate *p = &status->pace;
    double weight;

    if (p->company != company || p->cap_watts < cap_watts || p->cap_watts > cap_watts)
        *p = (struct recent_rate){.company = company, .cap_watts = cap_watts};
    p->windows++;
    weight = fmax(1.0 / p->windows, NEWEST_WEIGHT);
    p->rate += weight * (useful_rate(status, m) - p->rate);
    if (isfinite(m->device_watts))
        p->watts += (p->watts > 0 ? weight : 1) * (m->device_watts - p->watts);
    p->at_s = m->at_s;
    p->latency_s = m->latency_s;
}

bool recent_rate_known(const struct job_status *status, const struct cluster *cluster)
{
    return status->pace.windows > 0 && status->device_count > 0 &&
           status->pace.company == company_of(status, cluster);
}
