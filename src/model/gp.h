/* gp.h - the correlation core: an exact Gaussian process over cells
 *
 * Every measurement of a job on a GPU, alone or beside another, moves what is believed of
 * all cells it correlates with, including GPUs and co-runners never tried.  Observations
 * are appended to a Cholesky factor in O(n^2).  kernel_fit.h adapts the parameters.  Not
 * thread-safe; a worker gets a copy (gp_dup). */
#ifndef CORGI_MODEL_GP_H
#define CORGI_MODEL_GP_H

#include "model/kernel.h"

#include <stdbool.h>

struct gp;

/* relative: values are log relative speeds of pairs; else log rates, alone or in pairs.
 */
struct gp *gp_create(const struct kernel_params *params, bool relative);
void gp_destroy(struct gp *gp); /* NULL is fine */
struct gp *gp_dup(const struct gp *gp);

/* Indices for cells, counted from 0. */
int gp_add_job(struct gp *gp, const struct job_trait *job);
int gp_add_gpu(struct gp *gp, const struct gpu_trait *gpu);
int gp_job_count(const struct gp *gp);
int gp_gpu_count(const struct gp *gp);

/* Append one observation; extra_var adds to the noise of the kernel.  Returns its index.
 */
size_t gp_observe(struct gp *gp, struct cell cell, double value, double extra_var);

/* Append many and factorize once. */
void gp_load(struct gp *gp, const struct cell *cells, const double *values, size_t count);

/* Replace the value of an observation, O(n^2). */
void gp_revise(struct gp *gp, size_t index, double value);

/* Replace all values and what adds to their noise (NULL: stays).  Values alone cost
 * O(n^2), noise O(n^3). */
void gp_revise_all(struct gp *gp, const double *values, const double *extra_var);

/* Forget the newest observation, O(n^2). */
void gp_pop(struct gp *gp);

/* Forget the observations for which keep is false. */
void gp_retain(struct gp *gp, const bool *keep);

size_t gp_count(const struct gp *gp);
struct cell gp_cell(const struct gp *gp, size_t index);
double gp_observed(const struct gp *gp, size_t index);
double gp_extra_var(const struct gp *gp, size_t index);
const struct kernel_params *gp_params(const struct gp *gp);
const struct kernel *gp_kernel(const struct gp *gp);
struct kernel_space gp_space(const struct gp *gp); /* borrowed parts */

/* Half the log determinant of the covariance: the sum of the factor's log diagonal. */
double gp_log_root(const struct gp *gp);

/* New parameters: the job table and the factor are made again, O(n^3). */
void gp_set_params(struct gp *gp, const struct kernel_params *params);

/* What a new measurement of each cell would show: mean and, unless NULL, variance. */
void gp_predict(const struct gp *gp, const struct cell *cells, size_t count, double *mean,
                double *var);

/* Jobs that were never added, as a question sees them: they count from gp_job_count() on.
 */
struct gp_guests {
    const struct job_trait *traits;
    int count;
};

/* The same of one pair with a guest in it; relative values only. */
void gp_predict_guest(const struct gp *gp, const struct gp_guests *guests,
                      struct cell cell, double *mean, double *var);

/* Means of one job on every GPU beside each of `others`: out (gpus, others).  Much
 * cheaper than core_predict; not for cells alone. */
void gp_predict_row(const struct gp *gp, int job, const int *others, size_t count,
                    double *out);

/* Joint: mean (count) and covariance (count, count) of new measurements. */
void gp_posterior(const struct gp *gp, const struct cell *cells, size_t count,
                  double *mean, double *cov);

/* Inverse covariance of the observations (n, n), for core_leave_out. */
void gp_precision(const struct gp *gp, double *precision);

/* The joint distribution of some observations given all the others.  -1 when the numbers
 * do not allow it. */
int gp_leave_out(const struct gp *gp, const double *precision, const size_t *which,
                 size_t count, double *mean, double *cov);

/* Condition a joint distribution on the values of `seen_count` of its entries: mean and
 * variance of all entries afterwards. */
void gp_condition(const double *mean, const double *cov, size_t count, const size_t *seen,
                  const double *values, size_t seen_count, double *mean_out,
                  double *var_out);

#endif
