/* promise_guard.c - engine_events.c calls it with every window; metrics and the report of
 * the daemon read what it counts */
#include "service/promise_guard.h"

#include "model/queueing.h"
#include "loop/requirement.h"

#include <math.h>

bool guard_is_broken(const struct record *r)
{
    return isfinite(r->watch.below_since_s);
}

/* What it must have now: never more than was promised. */
static double promised(const struct service *s, const struct record *r,
                       const struct job_status *status)
{
    double needed = requirement_rate_now(status, service_now_s(s));

    return isfinite(r->promised_rate) ? fmin(needed, fmax(r->promised_rate, 0)) : 0;
}

static void count_time(struct service *s, struct record *r, bool kept)
{
    double now_s = service_now_s(s);

    if (isfinite(r->watch.checked_s)) {
        s->promised_s += now_s - r->watch.checked_s;
        s->kept_s += kept ? now_s - r->watch.checked_s : 0;
    }
    r->watch.checked_s = now_s;
}

/* The 99th percentile is above what was asked for. */
static bool is_late(const struct service *s, const struct job_status *status,
                    const struct record *r)
{
    double limit = status->job.need.latency_s;

    return limit > 0 && r->latency_s > limit * (1 + s->config.guard.tolerance);
}

static bool is_kept(const struct service *s, const struct job_status *status,
                    const struct record *r, double wanted)
{
    double useful = queueing_useful(&status->job, r->rate);

    /* What was measured of latency itself says more than what follows from a rate. */
    if (status->job.need.latency_s > 0 && r->latency_s > 0)
        return !is_late(s, status, r) &&
               !(r->rate < wanted * (1 - s->config.guard.tolerance));
    return useful >= wanted * (1 - s->config.guard.tolerance);
}

void guard_check(struct service *s, struct record *r)
{
    const struct job_status *status = loop_job(s->loop, r->id);
    double wanted;
    bool kept;

    if (!status || status->state != JOB_RUNNING)
        return;
    wanted = promised(s, r, status);
    if (!(wanted > 0)) {
        r->watch.below_since_s = NAN;
        return;
    }
    kept = is_kept(s, status, r, wanted);
    count_time(s, r, kept);
    if (kept)
        r->watch.below_since_s = NAN;
    else if (!isfinite(r->watch.below_since_s))
        r->watch.below_since_s = service_now_s(s);
}
