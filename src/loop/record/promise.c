/* promise.c - the daemon calls it with every window of a job; its metrics and its summary
 * show what is counted */
#include "loop/record/promise.h"

#include "loop/requirement.h"
#include "model/queueing.h"

#include <math.h>

/* What it must have now: never more than was promised. */
static double wanted_rate(const struct job_status *status,
                          const struct promise_facts *facts, double now_s)
{
    double needed = requirement_rate_now(status, now_s);

    return isfinite(facts->promised_rate) ? fmin(needed, fmax(facts->promised_rate, 0))
                                          : 0;
}

static bool is_kept(const struct job_status *status, const struct promise_facts *facts,
                    double wanted)
{
    double limit_s = status->job.need.latency_s;
    double least = wanted * (1 - facts->tolerance);

    /* What was measured of latency itself says more than what follows from a rate. */
    if (limit_s > 0 && facts->latency_s > 0)
        return !(facts->latency_s > limit_s * (1 + facts->tolerance)) &&
               !(facts->rate < least);
    return queueing_useful(&status->job, facts->rate) >= least;
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
