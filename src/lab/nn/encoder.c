/* encoder.c - one-layer Transformer encoder, see encoder.h */
#include "lab/nn/encoder.h"

#include "nn/linear.h"
#include "nn/pointwise.h"
#include "lab/nn/rowwise.h"
#include "nn/shape.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

static void norm_init(struct encoder_norm *norm, struct params *params, const char *name,
                      const char *part, int width)
{
    char full[PARAMS_NAME_SIZE];

    snprintf(full, sizeof(full), "%s.%s.gain", name, part);
    norm->gain = params_add(params, full, 1, width);
    params_fill(params, norm->gain, 1);
    snprintf(full, sizeof(full), "%s.%s.shift", name, part);
    norm->shift = params_add(params, full, 1, width);
}

static struct var *norm_forward(const struct encoder_norm *norm, struct tape *tape,
                                struct params *params, struct var *x)
{
    return rowwise_layer_norm(tape, x, tape_param(tape, params, norm->gain),
                              tape_param(tape, params, norm->shift));
}

static void dense_init(struct mlp_layer *layer, struct params *params, const char *name,
                       const char *part, int inputs, int outputs, struct rng *rng)
{
    char full[PARAMS_NAME_SIZE];

    snprintf(full, sizeof(full), "%s.%s", name, part);
    mlp_layer_init(layer, params, full, inputs, outputs);
    params_fill_xavier(params, layer->weight, rng);
}

void encoder_init(struct encoder *encoder, struct params *params, const char *name,
                  struct encoder_shape shape, struct rng *rng)
{
    int width = shape.width;
    char full[PARAMS_NAME_SIZE];

    assert(shape.heads > 0 && width % shape.heads == 0);
    encoder->width = width;
    encoder->heads = shape.heads;
    dense_init(&encoder->embed, params, name, "embed", shape.inputs, width, rng);
    dense_init(&encoder->project, params, name, "project", width, 3 * width, rng);
    dense_init(&encoder->merge, params, name, "merge", width, width, rng);
    snprintf(full, sizeof(full), "%s.inner", name);
    mlp_init(&encoder->inner, params, full, (const int[]){width, shape.inner, width}, 3,
             rng);
    norm_init(&encoder->before_attention, params, name, "norm1", width);
    norm_init(&encoder->before_inner, params, name, "norm2", width);
    norm_init(&encoder->last, params, name, "norm3", width);
}

/* One head: weights of every token over the tokens of its sequence, then their values. */
static struct var *head(const struct encoder *encoder, struct tape *tape,
                        struct var *projected, int index, const nn_real *mask,
                        int sequences)
{
    int width = encoder->width, size = width / encoder->heads, at = index * size;
    struct var *query = shape_slice_cols(tape, projected, at, size);
    struct var *key = shape_slice_cols(tape, projected, width + at, size);
    struct var *value = shape_slice_cols(tape, projected, 2 * width + at, size);
    nn_real scale = (nn_real)(1 / sqrt((double)size));
    struct var *scores =
        linear_group_matmul_transposed(tape, query, key, sequences, scale);

    return linear_group_matmul(tape, rowwise_softmax(tape, scores, mask, sequences),
                               value, sequences);
}

static struct var *attention(const struct encoder *encoder, struct tape *tape,
                             struct params *params, struct var *x, const nn_real *mask,
                             int sequences)
{
    struct var *projected = mlp_layer_forward(&encoder->project, tape, params, x);
    struct var *heads = head(encoder, tape, projected, 0, mask, sequences);

    for (int i = 1; i < encoder->heads; i++)
        heads = shape_concat_cols(tape, heads,
                                  head(encoder, tape, projected, i, mask, sequences));
    return mlp_layer_forward(&encoder->merge, tape, params, heads);
}

struct var *encoder_forward(const struct encoder *encoder, struct tape *tape,
                            struct params *params, struct var *tokens,
                            const nn_real *mask, int sequences)
{
    struct var *x = mlp_layer_forward(&encoder->embed, tape, params, tokens);
    struct var *inner;

    inner = norm_forward(&encoder->before_attention, tape, params, x);
    x = pointwise_add(tape, x, attention(encoder, tape, params, inner, mask, sequences));
    inner = norm_forward(&encoder->before_inner, tape, params, x);
    x = pointwise_add(tape, x, mlp_forward(&encoder->inner, tape, params, inner));
    return norm_forward(&encoder->last, tape, params, x);
}
