/* gp.h - the correlation core: an exact Gaussian process over cells
 *
 * Every measurement of a job on a GPU, alone or beside another, moves what is believed of
 * all cells it correlates with, including GPUs and co-runners never tried.  Observations
 * are appended to a Cholesky factor in O(n^2).  kernel_fit.h adapts the parameters.  Not
 * thread-safe; a worker gets a copy (gp_dup). */
#pragma once

#include "base/vec.h"
#include "model/kernel.h"

struct gp {
    struct kernel_params params;
    struct kernel kernel;
    struct kernel_space space;
    int job_count, gpu_count;
    vec_of(int) kin;        /* (jobs) the job of the same family added before; -1: none */
    vec_of(int) newest;     /* (families) the job of it added last */
    size_t count, capacity; /* observations */
    struct cell *cells;
    double *values; /* after a change: gp_revise() */
    double *extra; /* variance beyond the kernel's noise; after a change: gp_refactor() */
    double *factor; /* (capacity, capacity) lower Cholesky of the covariance */
    double *white;  /* (capacity) factor^-1 (values - mean) */
    double *weight; /* (capacity) covariance^-1 (values - mean) */
};

/* relative: values are log relative speeds of pairs; else log rates, alone or in pairs.
 */
struct gp *gp_create(const struct kernel_params *params, bool relative);
void gp_destroy(struct gp *gp); /* NULL is fine */
struct gp *gp_dup(const struct gp *gp);

/* Indices for cells, counted from 0. */
int gp_add_job(struct gp *gp, const struct job_trait *job);
int gp_add_gpu(struct gp *gp, const struct gpu_trait *gpu);

/* What is known of a job's rates alone: (gpus) ln rates, NaN where none is.  When there
 * are observations of the job already: gp_refactor() afterwards. */
void gp_set_rates(struct gp *gp, int job, const double *rates);

/* The same of what was counted of it; NaN where nothing was. */
void gp_set_counters(struct gp *gp, int job, const struct job_counters *counters);

/* Append one observation; extra_var adds to the noise of the kernel.  Returns its index.
 */
size_t gp_observe(struct gp *gp, struct cell cell, double value, double extra_var);

/* Append many and factorize once; extra NULL: none. */
void gp_load(struct gp *gp, const struct cell *cells, const double *values,
             const double *extra, size_t count);

/* What follows from the values is made again, O(n^2); from noise too, O(n^3). */
void gp_revise(struct gp *gp);
void gp_refactor(struct gp *gp);

/* Forget the observations for which keep is false. */
void gp_retain(struct gp *gp, const bool *keep);

/* New parameters: the job table and the factor are made again, O(n^3). */
void gp_set_params(struct gp *gp, const struct kernel_params *params);

/* New levels and spreads of the GPU types from these parameters, all others stay. */
void gp_set_units(struct gp *gp, const struct kernel_params *params);

/* What a new measurement of each cell would show: mean and, unless NULL, variance. */
void gp_predict(const struct gp *gp, const struct cell *cells, size_t count, double *mean,
                double *var);

/* Jobs that were never added, as a question sees them: they count from job_count on. */
struct gp_guests {
    const struct job_trait *traits;
    int count;
};

/* The same of one pair with a guest in it; relative values only. */
void gp_predict_guest(const struct gp *gp, const struct gp_guests *guests,
                      struct cell cell, double *mean, double *var);

/* Means of one job beside each of `count` others from first on, on every GPU, or, effect,
 * of each of those beside it: out (count, gpus).  Much cheaper than gp_predict();
 * relative values only. */
void gp_predict_row(const struct gp *gp, int job, bool effect, int first, size_t count,
                    double *out);

/* Inverse covariance of the observations (n, n), for gp_leave_out(). */
void gp_precision(const struct gp *gp, double *precision);

/* The joint distribution of some observations given all the others.  -1 when the numbers
 * do not allow it. */
int gp_leave_out(const struct gp *gp, const double *precision, const size_t *which,
                 size_t count, double *mean, double *cov);

/* What a measurement of one of the observed cells would show, by all the others; O(n^2).
 */
void gp_leave_one_out(const struct gp *gp, size_t which, double *mean, double *var);

/* A predictive variance below this is rounding, not knowledge. */
#define GP_VAR_MIN 1e-8

/* Covariance of the observations with cells: out (observations, cells), and the means of
 * these from it. */
void gp_cross(const struct gp *gp, const struct cell *cells, size_t count, double *out,
              double *mean);
