/* run_measure.c - see run_measure.h */
#include "lab/sim/run_measure.h"

#include <math.h>

#define J_PER_KWH 3.6e6

double measure_energy_kwh(const struct sim_result *r)
{
    return r->energy.total_j / J_PER_KWH;
}

double measure_device_kwh(const struct sim_result *r)
{
    return r->energy.device_j / J_PER_KWH;
}

double measure_host_kwh(const struct sim_result *r)
{
    return r->energy.host_j / J_PER_KWH;
}

double measure_idle_kwh(const struct sim_result *r)
{
    return r->energy.idle_j / J_PER_KWH;
}

double measure_asleep_kwh(const struct sim_result *r)
{
    return r->energy.asleep_j / J_PER_KWH;
}

double measure_wake_kwh(const struct sim_result *r)
{
    return r->energy.wake_j / J_PER_KWH;
}

double measure_wh_per_work(const struct sim_result *r)
{
    return r->work_h > 0 ? r->energy.total_j / 3600 / r->work_h : NAN;
}

double measure_sla_time(const struct sim_result *r)
{
    return r->sla_time;
}

double measure_sla_jobs(const struct sim_result *r)
{
    return r->sla_jobs;
}

double measure_wait_p50(const struct sim_result *r)
{
    return r->wait_p50_s;
}

double measure_wait_p95(const struct sim_result *r)
{
    return r->wait_p95_s;
}

double measure_moves_per_job(const struct sim_result *r)
{
    return r->moves_per_job;
}

double measure_trials(const struct sim_result *r)
{
    return (double)r->learning.trials;
}

double measure_trials_better(const struct sim_result *r)
{
    return r->learning.settled > 0
               ? (double)r->learning.better / (double)r->learning.settled
               : NAN;
}

double measure_learning_spent_kwh(const struct sim_result *r)
{
    return r->learning.spent_joules / 3.6e6;
}

double measure_learning_earned_kwh(const struct sim_result *r)
{
    return r->learning.earned_joules / 3.6e6;
}

double measure_efficiency_allocated(const struct sim_result *r)
{
    return r->energy.allocated_s > 0 ? r->useful_h / (r->energy.allocated_s / 3600) : NAN;
}

double measure_efficiency_powered(const struct sim_result *r)
{
    return r->energy.powered_s > 0 ? r->useful_h / (r->energy.powered_s / 3600) : NAN;
}

double measure_work_h(const struct sim_result *r)
{
    return r->work_h;
}

double measure_estimate_error(const struct sim_result *r)
{
    return 100 * (exp(r->estimates.first_abs_log_error) - 1);
}

double measure_estimate_coverage(const struct sim_result *r)
{
    return r->estimates.coverage;
}

double measure_decision_p50(const struct sim_result *r)
{
    return r->decision_p50_ms;
}

double measure_decision_p99(const struct sim_result *r)
{
    return r->decision_p99_ms;
}

double measure_end_s(const struct sim_result *r)
{
    return r->end_s;
}

static double share_of(double part, long of)
{
    return of > 0 ? part / (double)of : NAN;
}

double measure_quoted_places(const struct sim_result *r)
{
    return share_of((double)r->quotes.at_place, r->quotes.started_at_once);
}

double measure_quoted_rate_error(const struct sim_result *r)
{
    return 100 * (exp(share_of(r->quotes.rate_log_error, r->quotes.measured)) - 1);
}

double measure_quoted_coverage(const struct sim_result *r)
{
    return share_of((double)r->quotes.covered, r->quotes.measured);
}

double measure_quoted_energy_error(const struct sim_result *r)
{
    return 100 * (exp(share_of(r->quotes.energy_log_error, r->quotes.energies)) - 1);
}

double measure_quoted_start_error(const struct sim_result *r)
{
    return r->quotes.start_wait_s > 0 ? r->quotes.start_error_s / r->quotes.start_wait_s
                                      : NAN;
}
