/* ops.c - the operations that seqnet.c makes its networks of; token_ops.c has those over
 * tokens */
#include "lab/nn/ops.h"

#include "nn/gemm.h"

#include <assert.h>
#include <string.h>

static struct var *var_new(struct arena *arena, int rows, int cols, nn_real *value)
{
    struct var *var = arena_array(arena, struct var, 1);

    assert(rows > 0 && cols > 0);
    *var = (struct var){rows, cols, value};
    if (!value)
        var->value = arena_array(arena, nn_real, var_count(var));
    return var;
}

struct var *ops_input(struct arena *arena, int rows, int cols, const nn_real *numbers)
{
    struct var *var = var_new(arena, rows, cols, NULL);

    if (numbers)
        memcpy(var->value, numbers, var_count(var) * sizeof(*numbers));
    else
        memset(var->value, 0, var_count(var) * sizeof(*var->value));
    return var;
}

struct var *ops_param(struct arena *arena, const struct params *params, int id)
{
    const struct param *item = &params->items[id];

    assert(id >= 0 && id < params->item_count);
    return var_new(arena, item->rows, item->cols, params->value + item->offset);
}

struct var *ops_dense(struct arena *arena, const struct var *x, const struct var *weight,
                      const struct var *bias)
{
    struct var *out = var_new(arena, x->rows, weight->cols, NULL);
    size_t cols = (size_t)out->cols;

    assert(weight->rows == x->cols && bias->rows == 1 && bias->cols == weight->cols);
    for (size_t i = 0; i < (size_t)out->rows; i++)
        memcpy(out->value + i * cols, bias->value, cols * sizeof(*bias->value));
    gemm(GEMM_NN, x->rows, weight->cols, x->cols, 1, x->value, weight->value, 1,
         out->value);
    return out;
}

/* What is not a number stays so and shows in the answer. */
struct var *ops_relu(struct arena *arena, const struct var *x)
{
    struct var *out = var_new(arena, x->rows, x->cols, NULL);

    for (size_t i = 0; i < var_count(out); i++)
        out->value[i] = 0 > x->value[i] ? 0 : x->value[i];
    return out;
}

struct var *ops_add(struct arena *arena, const struct var *a, const struct var *b)
{
    struct var *out = var_new(arena, a->rows, a->cols, NULL);

    assert(a->rows == b->rows && a->cols == b->cols);
    for (size_t i = 0; i < var_count(out); i++)
        out->value[i] = a->value[i] + b->value[i];
    return out;
}

struct var *ops_affine(struct arena *arena, const struct var *x, nn_real scale,
                       nn_real shift)
{
    struct var *out = var_new(arena, x->rows, x->cols, NULL);

    for (size_t i = 0; i < var_count(out); i++)
        out->value[i] = scale * x->value[i] + shift;
    return out;
}

struct var *ops_slice_cols(struct arena *arena, const struct var *x, int first, int count)
{
    struct var *out = var_new(arena, x->rows, count, NULL);

    assert(first >= 0 && first + count <= x->cols);
    for (size_t i = 0; i < (size_t)x->rows; i++)
        memcpy(out->value + i * (size_t)count,
               x->value + i * (size_t)x->cols + (size_t)first,
               (size_t)count * sizeof(*x->value));
    return out;
}

struct var *ops_layer(struct arena *arena, const struct mlp_layer *layer,
                      const struct params *params, const struct var *x)
{
    return ops_dense(arena, x, ops_param(arena, params, layer->weight),
                     ops_param(arena, params, layer->bias));
}

struct var *ops_mlp(struct arena *arena, const struct mlp *mlp,
                    const struct params *params, const struct var *x)
{
    struct var *out = ops_layer(arena, &mlp->layers[0], params, x);

    for (int i = 1; i < mlp->layer_count; i++)
        out = ops_layer(arena, &mlp->layers[i], params, ops_relu(arena, out));
    return out;
}
