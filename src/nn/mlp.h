/* mlp.h - feed-forward network: dense layers with ReLU between them, and its training
 *
 *     const int widths[] = {17, 32, 32, 2};
 *     struct mlp net;
 *     mlp_init(&net, params, "p1", widths, 4, &rng);
 *
 * The struct only holds the ids of its parameters: copy it freely, use it with any set of
 * the same layout (params_dup()).  The last layer has no ReLU.  One step of training:
 *
 *     y = mlp_forward(batch, params, x, rows);
 *     loss = mlp_laplace(mean, log_width, target, rows, by_mean, by_log_width);
 *     mlp_backward(batch, params, by_y, NULL);
 *     adam_step(adam, params, loss);
 *
 * Gradients are checked in double against finite differences. */
#pragma once

#include "nn/params.h"

#define MLP_MAX_LAYERS 8

struct mlp_layer {
    int weight; /* (inputs, outputs) */
    int bias;   /* (1, outputs) */
    int inputs, outputs;
};

struct mlp {
    struct mlp_layer layers[MLP_MAX_LAYERS];
    int layer_count;
};

/* Add "name.0.weight", "name.0.bias", ... to params: He before a ReLU, Xavier for the
 * last layer, biases 0.  width_count is one more than the layers. */
void mlp_init(struct mlp *mlp, struct params *params, const char *name, const int *widths,
              int width_count, struct rng *rng);
/* The parameters of one dense layer, for other blocks. */
void mlp_layer_init(struct mlp_layer *layer, struct params *params, const char *name,
                    int inputs, int outputs);

/* What the rows of one batch give in each layer, kept for the way back.  After the
 * largest batch nothing is allocated any more.  One a thread. */
struct mlp_batch;

struct mlp_batch *mlp_batch_create(const struct mlp *mlp);
void mlp_batch_destroy(struct mlp_batch *batch); /* NULL is fine */

/* x (rows, inputs), borrowed until mlp_backward(), gives (rows, outputs), borrowed until
 * the next call. */
const nn_real *mlp_forward(struct mlp_batch *batch, const struct params *params,
                           const nn_real *x, int rows);

/* Given the gradient of a loss by each output (rows, outputs) of the last forward, add
 * its gradient by each parameter to params->grad, and put that by each input (rows,
 * inputs) into by_x unless NULL. */
void mlp_backward(struct mlp_batch *batch, struct params *params, const nn_real *by_y,
                  nn_real *by_x);

/* Narrowest width a Laplace loss believes in, as log b; below it, log b counts as this
 * and is only ever pushed up.  Keeps a run of exact hits from sending b to 0. */
#define MLP_MIN_LOG_WIDTH ((nn_real)-7)

/* The mean negative log likelihood |y - mean| / b + log b, with b = exp(log_width) learnt
 * as well, and its gradients by the two. */
double mlp_laplace(const nn_real *mean, const nn_real *log_width, const nn_real *target,
                   size_t count, nn_real *by_mean, nn_real *by_log_width);
