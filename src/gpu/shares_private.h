/* shares_private.h - watts of idle and of each job, fitted to what sets of jobs drew
 *
 * Least squares with a prior: power of a set = idle + the draw of each of its jobs.  Jobs
 * that share a device slow each other down and draw less than their sum, so sets of two
 * and more have a factor on it, fitted too, and are believed less. */
#pragma once

#include "gpu/gpu_shares.h"

#define SHARES_MAX_JOBS 48 /* in one fit */
#define SHARES_TERMS    (SHARES_MAX_JOBS + 1)

/* All intervals with the same jobs on the device. */
struct shares_group {
    int count;
    int jobs[GPU_SHARES_MAX_TOGETHER]; /* (count) ascending, indices of fitted jobs */
    /* The account: what is to be divided. */
    int64_t microjoules;
    double seconds;
    double error_joules; /* of the meter: adds up */
    /* The evidence: what the set draws; none when seen_s is 0. */
    double seen_joules, seen_s;
    double intervals;
    double mean, spread; /* of the intervals' watts; sum of squared differences */
    double extra_var;    /* watts squared, where it was not measured but is what a fit
                            left of a larger set; 0: measured */
};

struct shares_fit {
    double together;                         /* factor on the jobs' sum when they share */
    int terms;                               /* 1 + jobs; term 0 is idle */
    double watts[SHARES_TERMS];              /* (terms) not negative */
    double var[SHARES_TERMS * SHARES_TERMS]; /* (terms, terms) covariance */
};

/* Activity of each job is its mean share of the device's utilisation, NaN when unknown;
 * it only moves the prior. */
void shares_fit_run(struct shares_fit *fit, const struct gpu_sheet *sheet,
                    const struct shares_group *groups, size_t group_count,
                    const double *activity, int job_count);

/* How unsure a sum of parts is.  An error of the fit leans the same way in every group,
 * so slopes are summed before they become an error; what a set drew less or more than its
 * jobs' sum differs from set to set, so squares are; the meter is off in one direction.
 */
struct shares_error {
    double slope[SHARES_TERMS];
    double misfit2;
    double meter;
};

/* One group's energy among idle and its jobs: idle gets its watts first, the jobs divide
 * the rest by theirs; whole microjoules, so that the parts are the whole.  parts[0] is
 * idle's, then as in the group; the error of each part is added to where errors[] of the
 * same index points, unless that is NULL. */
void shares_divide(const struct shares_group *g, const struct shares_fit *fit,
                   int64_t *parts, struct shares_error *const *errors);
double shares_error_joules(const struct shares_error *error,
                           const struct shares_fit *fit);
