/* core.h - the correlation core: an exact Gaussian process over cells
 *
 * Every measurement of a job on a GPU, alone or beside another, moves what is believed of
 * all cells it correlates with, including GPUs and co-runners never tried.  Observations
 * are appended to a Cholesky factor in O(n^2).  refine/fit.h adapts the parameters.  Not
 * thread-safe; a worker gets a copy (core_dup). */
#ifndef CORGI_LOOP_CORE_CORE_H
#define CORGI_LOOP_CORE_CORE_H

#include "loop/core/kernel.h"

#include <stdbool.h>

struct core;

/* relative: values are log relative speeds of pairs; else log rates, alone or in pairs.
 */
struct core *core_create(const struct kernel_params *params, bool relative);
void core_destroy(struct core *core); /* NULL is fine */
struct core *core_dup(const struct core *core);

/* Indices for cells, counted from 0. */
int core_add_job(struct core *core, const struct job_trait *job);
int core_add_gpu(struct core *core, const struct gpu_trait *gpu);
int core_job_count(const struct core *core);
int core_gpu_count(const struct core *core);

/* Append one observation; extra_var adds to the noise of the kernel.  Returns its index.
 */
size_t core_observe(struct core *core, struct cell cell, double value, double extra_var);

/* Append many and factorize once. */
void core_load(struct core *core, const struct cell *cells, const double *values,
               size_t count);

/* Replace the value of an observation, O(n^2). */
void core_revise(struct core *core, size_t index, double value);

/* Replace all values and what adds to their noise (NULL: stays).  Values alone cost
 * O(n^2), noise O(n^3). */
void core_revise_all(struct core *core, const double *values, const double *extra_var);

/* Forget the newest observation, O(n^2). */
void core_pop(struct core *core);

/* Forget the observations for which keep is false. */
void core_retain(struct core *core, const bool *keep);

size_t core_count(const struct core *core);
struct cell core_cell(const struct core *core, size_t index);
double core_observed(const struct core *core, size_t index);
double core_extra_var(const struct core *core, size_t index);
const struct kernel_params *core_params(const struct core *core);
const struct kernel *core_kernel(const struct core *core);
struct kernel_space core_space(const struct core *core); /* borrowed parts */

/* Half the log determinant of the covariance: the sum of the factor's log diagonal. */
double core_log_root(const struct core *core);

/* New parameters: the job table and the factor are made again, O(n^3). */
void core_set_params(struct core *core, const struct kernel_params *params);

/* What a new measurement of each cell would show: mean and, unless NULL, variance. */
void core_predict(const struct core *core, const struct cell *cells, size_t count,
                  double *mean, double *var);

/* Means of one job on every GPU beside each of `others`: out (gpus, others).  Much
 * cheaper than core_predict; not for cells alone. */
void core_predict_row(const struct core *core, int job, const int *others, size_t count,
                      double *out);

/* Joint: mean (count) and covariance (count, count) of new measurements. */
void core_posterior(const struct core *core, const struct cell *cells, size_t count,
                    double *mean, double *cov);

/* Inverse covariance of the observations (n, n), for core_leave_out. */
void core_precision(const struct core *core, double *precision);

/* The joint distribution of some observations given all the others.  -1 when the numbers
 * do not allow it. */
int core_leave_out(const struct core *core, const double *precision, const size_t *which,
                   size_t count, double *mean, double *cov);

/* Condition a joint distribution on the values of `seen_count` of its entries: mean and
 * variance of all entries afterwards. */
void core_condition(const double *mean, const double *cov, size_t count,
                    const size_t *seen, const double *values, size_t seen_count,
                    double *mean_out, double *var_out);

#endif
