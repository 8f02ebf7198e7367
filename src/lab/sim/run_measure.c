/* run_measure.c - the figures of one run by name: run_result.c prints them, goals.c and
 * the report compare them */
#include "lab/sim/run_measure.h"

#include <math.h>
#include <stdlib.h>

#define KWH(joules) ((joules) / 3.6e6)

/* A share of something there may be none of, and the percent a mean log error comes to.
 */
static double share_of(double part, double of)
{
    return of > 0 ? part / of : NAN;
}

static double percent(double log_error)
{
    return 100 * (exp(log_error) - 1);
}

#define MEASURE(name, value)                                                             \
    double measure_##name(const struct sim_result *r)                                    \
    {                                                                                    \
        return value;                                                                    \
    }

/* So long may a job stay in a place that costs far more than a free one. */
#define MISPLACED_LONG_S 7200

static struct misplaced {
    double longest_s, jobs;
} misplaced(const struct sim_result *r, double longer_s)
{
    struct misplaced all = {0};

    for (size_t i = 0; i < r->jobs; i++) {
        all.longest_s = fmax(all.longest_s, r->job_results[i].misplaced_s);
        all.jobs += r->job_results[i].misplaced_s > longer_s;
    }
    return all;
}

MEASURE(energy_kwh, KWH(r->energy.total_j))
MEASURE(bound_kwh, KWH(r->bound_j))
MEASURE(above_bound, 100 * (r->energy.total_j / r->bound_j - 1))
MEASURE(device_kwh, KWH(r->energy.device_j))
MEASURE(host_kwh, KWH(r->energy.host_j))
MEASURE(idle_kwh, KWH(r->energy.idle_j))
MEASURE(asleep_kwh, KWH(r->energy.asleep_j))
MEASURE(wake_kwh, KWH(r->energy.wake_j))
MEASURE(peak_watts, r->energy.peak_watts)
MEASURE(saved_kwh, KWH(r->saved_j))
MEASURE(saved_error_kwh, KWH(r->saved_error_j))
MEASURE(wh_per_work, share_of(r->energy.total_j / 3600, r->work_h))
MEASURE(sla_time, r->sla_time)
MEASURE(sla_jobs, r->sla_jobs)
MEASURE(sla_jobs_5, r->sla_jobs_5)
MEASURE(sla_jobs_01, r->sla_jobs_01)
MEASURE(wait_p50, r->wait_p50_s)
MEASURE(wait_p95, r->wait_p95_s)
MEASURE(moves_per_job, r->moves_per_job)
MEASURE(service_time, r->service_time)
MEASURE(service_moves, r->service_moves)
MEASURE(misplaced_longest, misplaced(r, 0).longest_s)
MEASURE(misplaced_jobs, misplaced(r, MISPLACED_LONG_S).jobs)
MEASURE(trials, (double)r->learning.trials)
MEASURE(trials_better, share_of((double)r->learning.better, (double)r->learning.settled))
MEASURE(learning_spent_kwh, KWH(r->learning.spent_joules))
MEASURE(learning_earned_kwh, KWH(r->learning.earned_joules))
MEASURE(efficiency_allocated, share_of(r->useful_h, r->energy.allocated_s / 3600))
MEASURE(efficiency_powered, share_of(r->useful_h, r->energy.powered_s / 3600))
MEASURE(work_h, r->work_h)
MEASURE(estimate_error, percent(r->estimates.first_abs_log_error))
MEASURE(estimate_coverage, r->estimates.coverage)
MEASURE(decision_p50, r->decision_p50_ms)
MEASURE(decision_p99, r->decision_p99_ms)
MEASURE(end_s, r->end_s)
MEASURE(quoted_places,
        share_of((double)r->quotes.at_place, (double)r->quotes.started_at_once))

static double windows(const struct sim_result *r)
{
    return (double)quote_score_windows(&r->quotes).measured;
}

static double kept_at(const struct sim_result *r, int level)
{
    return share_of((double)quote_score_windows(&r->quotes).kept[level], windows(r));
}

MEASURE(quoted_rate_error, percent(share_of(r->quotes.rate_log_error, windows(r))))
MEASURE(quoted_coverage, share_of((double)r->quotes.covered, windows(r)))
MEASURE(quoted_kept50, kept_at(r, 0))
MEASURE(quoted_kept80, kept_at(r, 1))
MEASURE(quoted_kept95, kept_at(r, 2))
MEASURE(quoted_energy_error,
        percent(share_of(r->quotes.energy_log_error, (double)r->quotes.energies)))
MEASURE(quoted_start_error, quote_score_start_median(&r->quotes))
MEASURE(quoted_start_good,
        share_of((double)r->quotes.starts_good, (double)r->quotes.starts))
MEASURE(quoted_start_told,
        share_of((double)r->quotes.starts,
                 (double)(r->quotes.starts + r->quotes.starts_unknown)))

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

double measure_quantile(double *values, size_t count, double share)
{
    size_t at;

    if (count == 0)
        return NAN;
    qsort(values, count, sizeof(*values), by_value);
    at = (size_t)(share * (double)count);
    return values[at < count ? at : count - 1];
}
