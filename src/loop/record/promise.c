/* promise.c - the daemon calls it with every window of a job; its metrics and its summary
 * show what is counted */
#include "loop/record/promise.h"

#include "loop/requirement.h"

#include <math.h>

/* What it must have now: never more than was promised, nor, a service, than is asked. */
static double wanted_rate(const struct job_status *status,
                          const struct promise_facts *facts, double now_s)
{
    double needed = requirement_rate_kept(status, now_s);

    return isfinite(facts->promised_rate) ? fmin(needed, fmax(facts->promised_rate, 0))
                                          : 0;
}

static bool is_late(const struct job_status *status, const struct promise_facts *facts)
{
    double limit_s = status->job.need.latency_s;

    return limit_s > 0 && facts->latency_s > limit_s * (1 + facts->tolerance);
}

/* A service keeps its promise when it answers what it is asked, in time: at a hundredth
 * of what it could do too.  Demand may have risen within the window. */
static bool is_kept(const struct job_status *status, const struct promise_facts *facts,
                    double wanted)
{
    if (status->job.kind != JOB_INFERENCE)
        return facts->rate >= wanted * (1 - facts->tolerance);
    if (isnan(status->demand))
        return !is_late(status, facts);
    return !is_late(status, facts) &&
           services_answers(facts->rate, fmin(wanted, status->pace.asked),
                            facts->window_s, facts->tolerance);
}

struct promise_time promise_check(struct promise *promise,
                                  const struct job_status *status,
                                  const struct promise_facts *facts, double now_s)
{
    double wanted = wanted_rate(status, facts, now_s);
    struct promise_time time = {0};
    bool kept;

    if (!(wanted > 0)) {
        promise->below_since_s = NAN;
        return time;
    }
    kept = is_kept(status, facts, wanted);
    if (isfinite(promise->checked_s)) {
        time.promised_s = now_s - promise->checked_s;
        time.kept_s = kept ? time.promised_s : 0;
    }
    promise->checked_s = now_s;
    if (kept)
        promise->below_since_s = NAN;
    else if (!isfinite(promise->below_since_s))
        promise->below_since_s = now_s;
    return time;
}
