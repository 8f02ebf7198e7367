/* mlp.h - feed-forward network: dense layers with ReLU between them
 *
 *     const int widths[] = {17, 32, 32, 2};
 *     struct mlp net;
 *     mlp_init(&net, params, "p1", widths, 4, &rng);
 *
 * The struct only holds the ids of its parameters: copy it freely, use it with any set of
 * the same layout (params_dup()).  The last layer has no ReLU. */
#pragma once

#include "nn/tape.h"

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

/* x (rows, inputs) gives (rows, outputs). */
struct var *mlp_forward(const struct mlp *mlp, struct tape *tape, struct params *params,
                        struct var *x);

/* One dense layer, for other blocks: its parameters, and its use without a ReLU. */
void mlp_layer_init(struct mlp_layer *layer, struct params *params, const char *name,
                    int inputs, int outputs);
struct var *mlp_layer_forward(const struct mlp_layer *layer, struct tape *tape,
                              struct params *params, struct var *x);
