/* token_ops.h - operations that only the networks over tokens need
 *
 * A batch of sequences is a matrix of (groups * length) rows, one sequence after the
 * other.  A mask is an array (groups, length) of 1 for a token and 0 for padding. */
#pragma once

#include "lab/nn/ops.h"

#include <stdbool.h>

struct var *token_tanh(struct arena *arena, const struct var *x);
struct var *token_sigmoid(struct arena *arena, const struct var *x);
struct var *token_mul(struct arena *arena, const struct var *a, const struct var *b);

/* a + scale (b - a), for each row its scale. */
struct var *token_between(struct arena *arena, const struct var *a, const struct var *b,
                          const nn_real *scale);

/* Rows first, first + stride, ... of x: with stride = length, one token of every
 * sequence. */
struct var *token_slice_rows(struct arena *arena, const struct var *x, int first,
                             int stride, int count);

/* a (rows, p) beside b (rows, q) gives (rows, p + q). */
struct var *token_concat_cols(struct arena *arena, const struct var *a,
                              const struct var *b);

/* Group by group: a (groups * m, k) times b (groups * k, n) gives (groups * m, n).
 * transposed: b is (groups * n, k). */
struct var *token_group_matmul(struct arena *arena, const struct var *a,
                               const struct var *b, int groups, bool transposed,
                               nn_real scale);

/* Softmax of every row.  The rows fall into equal groups; columns where the group's row
 * of the mask (groups, cols) is 0 get 0, and a row without any column left is all 0.
 * mask NULL: every column counts. */
struct var *token_softmax(struct arena *arena, const struct var *x, const nn_real *mask,
                          int groups);

/* Every row to mean 0 and variance 1, then times gain plus shift, both (1, cols). */
struct var *token_layer_norm(struct arena *arena, const struct var *x,
                             const struct var *gain, const struct var *shift);

/* Mean over the tokens of each sequence: (groups * length, cols) gives (groups, cols); a
 * sequence without tokens gives 0.  mask NULL: every row is a token. */
struct var *token_masked_mean(struct arena *arena, const struct var *x,
                              const nn_real *mask, int groups);
