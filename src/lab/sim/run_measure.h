/* run_measure.h - the figures of one run, each a function, so that means, differences and
 * goals all mean the same by a name */
#pragma once

#include "lab/sim/sim_run.h"

typedef double measure(const struct sim_result *r);

double measure_energy_kwh(const struct sim_result *r);
double measure_bound_kwh(const struct sim_result *r);   /* NaN: not asked for */
double measure_above_bound(const struct sim_result *r); /* percent */
double measure_device_kwh(const struct sim_result *r);
double measure_host_kwh(const struct sim_result *r);
double measure_idle_kwh(const struct sim_result *r);
double measure_asleep_kwh(const struct sim_result *r);
double measure_wake_kwh(const struct sim_result *r);
double measure_peak_watts(const struct sim_result *r);
double measure_saved_kwh(const struct sim_result *r);
double measure_saved_error_kwh(const struct sim_result *r);
double measure_wh_per_work(const struct sim_result *r);
double measure_sla_time(const struct sim_result *r);
double measure_sla_jobs(const struct sim_result *r);
double measure_sla_jobs_5(const struct sim_result *r);
double measure_sla_jobs_01(const struct sim_result *r);
double measure_wait_p50(const struct sim_result *r);
double measure_wait_p95(const struct sim_result *r);
double measure_moves_per_job(const struct sim_result *r);
double measure_service_time(const struct sim_result *r); /* NaN: no services */
double measure_service_moves(const struct sim_result *r);
double measure_misplaced_longest(const struct sim_result *r); /* s, see sim_misplaced.c */
double measure_misplaced_jobs(const struct sim_result *r);    /* over two hours */
double measure_trials(const struct sim_result *r);
double measure_trials_better(const struct sim_result *r); /* share of those measured */
double measure_learning_spent_kwh(const struct sim_result *r);
double measure_learning_earned_kwh(const struct sim_result *r);
double measure_efficiency_allocated(const struct sim_result *r);
double measure_efficiency_powered(const struct sim_result *r);
double measure_work_h(const struct sim_result *r);
double measure_estimate_error(const struct sim_result *r);
double measure_estimate_coverage(const struct sim_result *r);
double measure_decision_p50(const struct sim_result *r);
double measure_decision_p99(const struct sim_result *r);
/* Quotes against what came, see quote_score.h; NaN: none to compare. */
double measure_quoted_places(const struct sim_result *r);       /* share, 0..1 */
double measure_quoted_rate_error(const struct sim_result *r);   /* percent */
double measure_quoted_coverage(const struct sim_result *r);     /* share, 0..1 */
double measure_quoted_energy_error(const struct sim_result *r); /* percent */
double measure_quoted_kept50(const struct sim_result *r);       /* share, 0..1: of */
double measure_quoted_kept80(const struct sim_result *r);       /* rates quoted at */
double measure_quoted_kept95(const struct sim_result *r);       /* this confidence */
double measure_quoted_start_error(const struct sim_result *r);  /* median, of the wait */
double measure_quoted_start_good(const struct sim_result *r);   /* share, 0..1 */
double measure_quoted_start_told(const struct sim_result *r);   /* share, 0..1 */
double measure_end_s(const struct sim_result *r);

/* The value at this share (0..1) of a list, which gets sorted; NaN when it is empty. */
double measure_quantile(double *values, size_t count, double share);
