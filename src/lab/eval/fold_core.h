/* fold_core.h - the correlation core on the catalogue of a fold
 *
 * Used by the methods that contain it: loads the catalogue, adapts the parameters, and
 * says for a held-out job what a number of observations leave open, with the width of its
 * intervals taken from the same game played inside the catalogue. */
#pragma once

#include "lab/eval/estimator_method.h"
#include "model/blend.h"
#include "model/gp.h"

struct fold_core;

struct fold_core *fold_core_create(const struct fold *fold);
void fold_core_destroy(struct fold_core *core); /* NULL is fine */

/* What the core says (2 * fold_half) of a held-out job after some of its cells were seen.
 */
void fold_core_predict(struct fold_core *core, int job, const size_t *seen,
                       size_t seen_count, struct blend_said *said);

/* The same for a job of the catalogue as if it (and what goes with it) were held out; the
 * numbering of cells is that of `inner`, made by fold_inner() for the same job. */
int fold_core_rehearse(struct fold_core *core, const struct fold *inner, int job,
                       const size_t *seen, size_t seen_count, struct blend_said *said);

/* Joint: mean (count) and covariance (count, count) of new measurements. */
void fold_core_posterior(const struct gp *gp, const struct cell *cells, size_t count,
                         double *mean, double *cov);

/* Condition a joint distribution on the values of `seen_count` of its entries: mean and
 * variance of all entries afterwards. */
void fold_core_condition(const double *mean, const double *cov, size_t count,
                         const size_t *seen, const double *values, size_t seen_count,
                         double *mean_out, double *var_out);
