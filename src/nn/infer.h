/* infer.h - a trained feed-forward network on many rows, quickly
 *
 * Nothing kept for training and no BLAS: weights are packed once, then 16 rows at a time
 * go through all the layers without leaving the first cache: P2's 30-48-32-2 answers
 * 8,000 cells in less than a millisecond on one core.  Results agree with mlp_forward()
 * up to rounding. Several threads may run one net. */
#pragma once

#include "nn/mlp.h"

#include <stddef.h>

#define INFER_MAX_WIDTH 256 /* of any layer */

struct infer;

/* A packed copy of the values; pack again after training. */
struct infer *infer_create(const struct mlp *mlp, const struct params *params);
void infer_destroy(struct infer *infer); /* NULL is fine */

/* x (rows, inputs) to y (rows, outputs), both row by row. */
void infer_run(const struct infer *infer, const nn_real *x, size_t rows, nn_real *y);
