/* mlp.c - feed-forward network: the trainer in model/stat_network.c takes it forward and
 * backward, infer.c answers from the same parameters */
#include "nn/mlp.h"

#include "base/mem.h"
#include "nn/gemm.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void mlp_layer_init(struct mlp_layer *layer, struct params *params, const char *name,
                    int inputs, int outputs)
{
    char full[2 * PARAMS_NAME_SIZE]; /* params_add() refuses what is too long */

    layer->inputs = inputs;
    layer->outputs = outputs;
    snprintf(full, sizeof(full), "%s.weight", name);
    layer->weight = params_add(params, full, inputs, outputs);
    snprintf(full, sizeof(full), "%s.bias", name);
    layer->bias = params_add(params, full, 1, outputs);
}

void mlp_init(struct mlp *mlp, struct params *params, const char *name, const int *widths,
              int width_count, struct rng *rng)
{
    char full[PARAMS_NAME_SIZE];

    assert(width_count >= 2 && width_count <= MLP_MAX_LAYERS + 1);
    mlp->layer_count = width_count - 1;
    for (int i = 0; i < mlp->layer_count; i++) {
        struct mlp_layer *layer = &mlp->layers[i];

        snprintf(full, sizeof(full), "%s.%d", name, i);
        mlp_layer_init(layer, params, full, widths[i], widths[i + 1]);
        if (i + 1 < mlp->layer_count)
            params_fill_he(params, layer->weight, rng);
        else
            params_fill_xavier(params, layer->weight, rng);
    }
}

/* ---- training ---------------------------------------------------------------------- */

struct mlp_batch {
    struct mlp mlp;
    int rows, room;                 /* in use, allocated */
    const nn_real *x;               /* (rows, inputs) */
    nn_real *value[MLP_MAX_LAYERS]; /* (rows, outputs) of each layer, behind its ReLU */
    nn_real *grad[MLP_MAX_LAYERS];  /* likewise, of the loss by these */
};

struct mlp_batch *mlp_batch_create(const struct mlp *mlp)
{
    struct mlp_batch *batch = mem_new(struct mlp_batch);

    gemm_setup();
    batch->mlp = *mlp;
    return batch;
}

void mlp_batch_destroy(struct mlp_batch *batch)
{
    for (int i = 0; batch && i < batch->mlp.layer_count; i++) {
        free(batch->value[i]);
        free(batch->grad[i]);
    }
    free(batch);
}

static void make_room(struct mlp_batch *batch, int rows)
{
    for (int i = 0; rows > batch->room && i < batch->mlp.layer_count; i++) {
        size_t count = (size_t)rows * (size_t)batch->mlp.layers[i].outputs;

        free(batch->value[i]);
        free(batch->grad[i]);
        batch->value[i] = mem_array(nn_real, count);
        batch->grad[i] = mem_array(nn_real, count);
    }
    batch->room = rows > batch->room ? rows : batch->room;
    batch->rows = rows;
}

static const nn_real *value_of(const struct params *params, int id)
{
    return params->value + params->items[id].offset;
}

/* What is not a number stays so and shows in the answer. */
static void relu(nn_real *x, size_t count)
{
    for (size_t i = 0; i < count; i++)
        x[i] = 0 > x[i] ? 0 : x[i];
}

const nn_real *mlp_forward(struct mlp_batch *batch, const struct params *params,
                           const nn_real *x, int rows)
{
    make_room(batch, rows);
    batch->x = x;
    for (int i = 0; i < batch->mlp.layer_count; i++) {
        const struct mlp_layer *layer = &batch->mlp.layers[i];
        size_t cols = (size_t)layer->outputs;
        nn_real *y = batch->value[i];

        for (size_t r = 0; r < (size_t)rows; r++)
            memcpy(y + r * cols, value_of(params, layer->bias), cols * sizeof(*y));
        gemm(GEMM_NN, rows, layer->outputs, layer->inputs, 1, x,
             value_of(params, layer->weight), 1, y);
        if (i + 1 < batch->mlp.layer_count)
            relu(y, (size_t)rows * cols);
        x = y;
    }
    return x;
}

/* A product instead of a choice: that the compiler turns into vectors. */
static void relu_backward(const nn_real *restrict y, nn_real *restrict by_y, size_t count)
{
    for (size_t i = 0; i < count; i++)
        by_y[i] *= (nn_real)(y[i] > 0);
}

static void add_to(nn_real *restrict to, const nn_real *restrict from, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to[i] += from[i];
}

void mlp_backward(struct mlp_batch *batch, struct params *params, const nn_real *by_y,
                  nn_real *by_x)
{
    for (int i = batch->mlp.layer_count - 1; i >= 0; i--) {
        const struct mlp_layer *layer = &batch->mlp.layers[i];
        const nn_real *x = i > 0 ? batch->value[i - 1] : batch->x;
        size_t count = (size_t)batch->rows * (size_t)layer->inputs;

        gemm(GEMM_TN, layer->inputs, layer->outputs, batch->rows, 1, x, by_y, 1,
             params->grad + params->items[layer->weight].offset);
        for (size_t r = 0; r < (size_t)batch->rows; r++)
            add_to(params->grad + params->items[layer->bias].offset,
                   by_y + r * (size_t)layer->outputs, (size_t)layer->outputs);
        if (i == 0 && !by_x)
            break;
        gemm(GEMM_NT, batch->rows, layer->inputs, layer->outputs, 1, by_y,
             value_of(params, layer->weight), 0, i > 0 ? batch->grad[i - 1] : by_x);
        if (i == 0)
            break;
        relu_backward(x, batch->grad[i - 1], count);
        by_y = batch->grad[i - 1];
    }
}

double mlp_laplace(const nn_real *mean, const nn_real *log_width, const nn_real *target,
                   size_t count, nn_real *by_mean, nn_real *by_log_width)
{
    nn_real each = (nn_real)(1 / (double)count);
    double sum = 0;

    for (size_t i = 0; i < count; i++) {
        nn_real s = log_width[i] < MLP_MIN_LOG_WIDTH ? MLP_MIN_LOG_WIDTH : log_width[i];
        nn_real miss = target[i] - mean[i], inverse = nn_exp(-s);
        nn_real slope = 1 - nn_fabs(miss) * inverse;

        sum += (double)(each * (nn_fabs(miss) * inverse + s));
        by_mean[i] = -(each * (nn_real)((miss > 0) - (miss < 0)) * inverse);
        by_log_width[i] = log_width[i] >= s || slope < 0 ? each * slope : 0;
    }
    return (double)(nn_real)sum;
}
