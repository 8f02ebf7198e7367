/* loss.h - one number to make small
 *
 * Every loss is a weighted mean over all numbers of the prediction and has shape (1, 1).
 * target and weight are arrays of the prediction's shape; weight NULL means all alike,
 * and weights that sum to 0 give a loss of 0.  Weights must not be negative. */
#ifndef CORGI_NN_LOSS_H
#define CORGI_NN_LOSS_H

#include "nn/tape.h"

/* Narrowest width a Laplace loss believes in, as log b; below it, log b counts as this
 * and is only ever pushed up.  Keeps a run of exact hits from sending b to 0. */
#define LOSS_MIN_LOG_WIDTH ((nn_real)-7)

/* Negative log likelihood |y - mean| / b + log b, with b = exp(log_width) learnt as well.
 * Both predictions have the same shape, usually (rows, 1), sliced from a head of two. */
struct var *loss_laplace(struct tape *tape, struct var *mean, struct var *log_width,
                         const nn_real *target, const nn_real *weight);

struct var *loss_mse(struct tape *tape, struct var *prediction, const nn_real *target,
                     const nn_real *weight);

/* Mean |prediction - target|. */
struct var *loss_mae(struct tape *tape, struct var *prediction, const nn_real *target,
                     const nn_real *weight);

#endif
