/* shares_fit.h - watts of idle and of each job, fitted to what sets of jobs drew together
 *
 * Least squares with a prior: power of a set = idle + the draw of each of its jobs.  Jobs
 * that share a device slow each other down and draw less than their sum, so sets of two
 * and more have a factor on it, fitted too, and are believed less. */
#ifndef CORGI_GPU_SHARES_FIT_H
#define CORGI_GPU_SHARES_FIT_H

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
    double prior_sd[SHARES_TERMS];           /* (terms) */
};

/* Activity of each job is its mean share of the device's utilisation, NaN when unknown;
 * it only moves the prior. */
void shares_fit_run(struct shares_fit *fit, const struct gpu_sheet *sheet,
                    const struct shares_group *groups, size_t group_count,
                    const double *activity, int job_count);

/* Standard error of a sum of terms, sum of slope[i] * watts[i]. */
double shares_fit_error(const struct shares_fit *fit, const double *slope);

#endif
