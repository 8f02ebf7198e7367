/* ops.h - matrices of one forward pass, and the operations they are made by
 *
 *     arena_reset(arena);
 *     struct var *x = ops_input(arena, batch, inputs, rows);
 *     struct var *y = ops_mlp(arena, &net, params, x);
 *
 * Every operation computes at once and gives a new matrix; there are no gradients.  A
 * matrix is good until the arena's next reset.  Arrays handed in are copied.  Wrong
 * shapes are mistakes of ours and end in an assertion. */
#pragma once

#include "lab/solver/arena.h"
#include "nn/mlp.h"

struct var {
    int rows, cols;
    nn_real *value; /* (rows, cols) row by row */
};

/* A matrix of its own, copied from rows of numbers; NULL gives zeros. */
struct var *ops_input(struct arena *arena, int rows, int cols, const nn_real *numbers);
/* A parameter as a matrix: reads its value in place. */
struct var *ops_param(struct arena *arena, const struct params *params, int id);

static inline size_t var_count(const struct var *var)
{
    return (size_t)var->rows * (size_t)var->cols;
}

/* x (rows, inputs) times weight (inputs, outputs) plus bias (1, outputs), in one go. */
struct var *ops_dense(struct arena *arena, const struct var *x, const struct var *weight,
                      const struct var *bias);
struct var *ops_relu(struct arena *arena, const struct var *x);
struct var *ops_add(struct arena *arena, const struct var *a, const struct var *b);
/* scale * x + shift, both constants. */
struct var *ops_affine(struct arena *arena, const struct var *x, nn_real scale,
                       nn_real shift);
struct var *ops_slice_cols(struct arena *arena, const struct var *x, int first,
                           int count);

/* A dense layer without a ReLU, and a whole network of them. */
struct var *ops_layer(struct arena *arena, const struct mlp_layer *layer,
                      const struct params *params, const struct var *x);
struct var *ops_mlp(struct arena *arena, const struct mlp *mlp,
                    const struct params *params, const struct var *x);
