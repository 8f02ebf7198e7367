/* ops.h - the operations a feed-forward network is made of, each with its gradient
 *
 * One step of training is in model/stat_network.c.  Gradients are checked in double
 * against finite differences. */
#pragma once

#include "nn/tape.h"

/* x (rows, inputs) times weight (inputs, outputs) plus bias (1, outputs), in one go. */
struct var *ops_dense(struct tape *tape, struct var *x, struct var *weight,
                      struct var *bias);

struct var *ops_relu(struct tape *tape, struct var *x);
struct var *ops_add(struct tape *tape, struct var *a, struct var *b); /* of one shape */

/* scale * x + shift, both constants: mu = 0.3 o + column mean is this and an add. */
struct var *ops_affine(struct tape *tape, struct var *x, nn_real scale, nn_real shift);

struct var *ops_slice_cols(struct tape *tape, struct var *x, int first, int count);

/* Narrowest width a Laplace loss believes in, as log b; below it, log b counts as this
 * and is only ever pushed up.  Keeps a run of exact hits from sending b to 0. */
#define OPS_MIN_LOG_WIDTH ((nn_real)-7)

/* The loss of shape (1, 1): mean negative log likelihood |y - mean| / b + log b, with b =
 * exp(log_width) learnt as well.  Both predictions have the shape of target, usually
 * (rows, 1), sliced from a head of two. */
struct var *ops_laplace(struct tape *tape, struct var *mean, struct var *log_width,
                        const nn_real *target);
