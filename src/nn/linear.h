/* linear.h - matrix products and layers on the tape
 *
 * A sequence batch is a matrix of (sequences * length) rows, one sequence after the
 * other; "groups" is the number of sequences, each multiplied on its own. */
#ifndef CORGI_NN_LINEAR_H
#define CORGI_NN_LINEAR_H

#include "nn/tape.h"

/* a (m, k) times b (k, n) gives (m, n). */
struct var *linear_matmul(struct tape *tape, struct var *a, struct var *b);

/* Group by group: a (groups * m, k) times b (groups * k, n) gives (groups * m, n). */
struct var *linear_group_matmul(struct tape *tape, struct var *a, struct var *b,
                                int groups);

/* The same with b (groups * n, k) transposed and the result scaled: the scores of
 * attention. */
struct var *linear_group_matmul_transposed(struct tape *tape, struct var *a,
                                           struct var *b, int groups, nn_real scale);

/* Add bias (1, cols) to every row of x. */
struct var *linear_bias(struct tape *tape, struct var *x, struct var *bias);

/* x (rows, inputs) times weight (inputs, outputs) plus bias (1, outputs), in one go. */
struct var *linear_dense(struct tape *tape, struct var *x, struct var *weight,
                         struct var *bias);

#endif
