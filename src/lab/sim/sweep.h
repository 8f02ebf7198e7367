/* sweep.h - policies times loads times seeds, on all cores
 *
 * Every policy plays the same scenarios; rows are means over the paired seeds with 95 %
 * intervals.  Results do not depend on how many threads there were. */
#pragma once

#include "lab/policy/policy.h"
#include "lab/sim/sim_run.h"
#include "lab/sim/scenario.h"

#define SWEEP_MAX_LOADS 32

struct sweep_options {
    struct scenario_options scenario; /* load and seed are set for each run */
    struct sim_options sim;
    const struct policy *policies[POLICY_MAX];
    size_t policy_count;
    double loads[SWEEP_MAX_LOADS];
    size_t load_count; /* 1 and ignored with a trace */
    bool both_sleeps;  /* every row with sleep and without, else as the settings say */
    int seeds;
    int threads; /* 0: as many as there are cores */
    bool bound;  /* each run is told the lower bound of its scenario */
    bool record; /* for the report: errors of all runs, places of one a policy */
};

struct sweep_row {
    const struct policy *policy;
    double load; /* NaN with a trace */
    bool sleep;
    int seeds;
    struct sim_result *runs; /* (seeds) */
};

struct sweep {
    size_t row_count;
    struct sweep_row
        *rows; /* by load, then sleep first, then in the order of the policies */
};

/* A mean over the runs of a row with the half-width of its 95 % interval (NaN for one).
 */
struct sweep_mean {
    double mean, half_width;
};

/* progress may be NULL. */
int sweep_run(struct sweep *sweep, const struct sweep_options *options,
              sim_progress *progress, void *progress_ctx, struct err *err);
void sweep_fini(struct sweep *sweep);

/* The same of any numbers, at least one; which load has its first runs' places recorded.
 */
struct sweep_mean sweep_mean_of(const double *values, int count);
size_t sweep_recorded_load(const struct sweep_options *options);

struct sweep_mean sweep_mean(const struct sweep_row *row,
                             double (*value)(const struct sim_result *));

/* One part of a row's runs, see quarter_stats.h: means over the seeds, so that a ratio of
 * two is that of all runs together. */
struct quarter sweep_quarter(const struct sweep_row *row, int part);

/* Energy for each unit of work in that part, in percent above the oracle's in the same
 * part: what the cluster's filling up has in common cancels out.  NaN without a row of
 * that name. */
double sweep_quarter_to_oracle(const struct sweep *sweep, size_t i, int part);

/* Differences seed by seed, so that what the seeds have in common cancels out: as they
 * are, or in percent of the base (NaN where that is 0). */
struct sweep_mean sweep_paired(const struct sweep_row *row, const struct sweep_row *base,
                               double (*value)(const struct sim_result *), bool percent);

/* How many rows from this one on belong together: one load, with or without sleep, each
 * policy once. */
size_t sweep_group(const struct sweep *sweep, size_t first);

/* The row of this policy in the group of row `i`; NULL: there is none. */
const struct sweep_row *sweep_peer(const struct sweep *sweep, size_t i,
                                   const char *policy);
