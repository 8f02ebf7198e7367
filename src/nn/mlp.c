/* mlp.c - feed-forward network on a tape: the trainer in model/stat_network.c runs it,
 * infer.c answers from the same parameters */
#include "nn/mlp.h"

#include "nn/ops.h"

#include <assert.h>
#include <stdio.h>

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

struct var *mlp_layer_forward(const struct mlp_layer *layer, struct tape *tape,
                              struct params *params, struct var *x)
{
    return ops_dense(tape, x, tape_param(tape, params, layer->weight),
                     tape_param(tape, params, layer->bias));
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

struct var *mlp_forward(const struct mlp *mlp, struct tape *tape, struct params *params,
                        struct var *x)
{
    for (int i = 0; i < mlp->layer_count; i++) {
        x = mlp_layer_forward(&mlp->layers[i], tape, params, x);
        if (i + 1 < mlp->layer_count)
            x = ops_relu(tape, x);
    }
    return x;
}
