/* seqnet.c - observations and a query to a few numbers: lab/eval/seq.c asks it for
 * `corgi eval` */
#include "lab/nn/seqnet.h"

#include "lab/nn/token_ops.h"
#include "nn/ops.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

static void norm_init(struct seqnet_norm *norm, struct params *params, const char *name,
                      const char *part, int width)
{
    char full[PARAMS_NAME_SIZE];

    snprintf(full, sizeof(full), "%s.%s.gain", name, part);
    norm->gain = params_add(params, full, 1, width);
    for (int i = 0; i < width; i++)
        params_value(params, norm->gain)[i] = 1;
    snprintf(full, sizeof(full), "%s.%s.shift", name, part);
    norm->shift = params_add(params, full, 1, width);
}

static void layer_init(struct mlp_layer *layer, struct params *params, const char *name,
                       const char *part, int inputs, int outputs)
{
    char full[PARAMS_NAME_SIZE];

    snprintf(full, sizeof(full), "%s.%s", name, part);
    mlp_layer_init(layer, params, full, inputs, outputs);
}

static void gru_init(struct seqnet_gru *gru, struct params *params, const char *name,
                     const struct seqnet_shape *shape, struct rng *rng)
{
    int hidden = shape->width;

    gru->hidden = hidden;
    layer_init(&gru->token, params, name, "gru.token", shape->token_inputs, 3 * hidden);
    layer_init(&gru->state, params, name, "gru.state", hidden, 3 * hidden);
    params_fill_xavier(params, gru->token.weight, rng);
    params_fill_xavier(params, gru->state.weight, rng);
}

static void encoder_init(struct seqnet_encoder *e, struct params *params,
                         const char *name, const struct seqnet_shape *shape,
                         struct rng *rng)
{
    int width = shape->width;
    char full[PARAMS_NAME_SIZE];

    assert(shape->heads > 0 && width % shape->heads == 0);
    e->width = width;
    e->heads = shape->heads;
    layer_init(&e->embed, params, name, "encoder.embed", shape->token_inputs, width);
    params_fill_xavier(params, e->embed.weight, rng);
    layer_init(&e->project, params, name, "encoder.project", width, 3 * width);
    params_fill_xavier(params, e->project.weight, rng);
    layer_init(&e->merge, params, name, "encoder.merge", width, width);
    params_fill_xavier(params, e->merge.weight, rng);
    snprintf(full, sizeof(full), "%s.encoder.inner", name);
    mlp_init(&e->inner, params, full, (const int[]){width, shape->inner, width}, 3, rng);
    norm_init(&e->before_attention, params, name, "encoder.norm1", width);
    norm_init(&e->before_inner, params, name, "encoder.norm2", width);
    norm_init(&e->last, params, name, "encoder.norm3", width);
}

void seqnet_init(struct seqnet *net, struct params *params, const char *name,
                 struct seqnet_shape shape, struct rng *rng)
{
    const int widths[] = {shape.width + shape.query_inputs, shape.head, shape.outputs};
    char full[PARAMS_NAME_SIZE];

    *net = (struct seqnet){.kind = shape.kind,
                           .token_inputs = shape.token_inputs,
                           .query_inputs = shape.query_inputs};
    if (shape.kind == SEQNET_GRU)
        gru_init(&net->gru, params, name, &shape, rng);
    else
        encoder_init(&net->encoder, params, name, &shape, rng);
    snprintf(full, sizeof(full), "%s.head", name);
    mlp_init(&net->head, params, full, widths, 3, rng);
}

/* One token further: x holds its part of the gates already. */
static struct var *advance(const struct seqnet_gru *gru, struct tape *tape,
                           struct params *params, struct var *x, struct var *h)
{
    int hidden = gru->hidden;
    struct var *from_h = mlp_layer_forward(&gru->state, tape, params, h);
    struct var *gates =
        token_sigmoid(tape, ops_add(tape, ops_slice_cols(tape, x, 0, 2 * hidden),
                                    ops_slice_cols(tape, from_h, 0, 2 * hidden)));
    struct var *r = ops_slice_cols(tape, gates, 0, hidden);
    struct var *z = ops_slice_cols(tape, gates, hidden, hidden);
    struct var *recalled =
        token_mul(tape, r, ops_slice_cols(tape, from_h, 2 * hidden, hidden));
    struct var *n = token_tanh(
        tape, ops_add(tape, ops_slice_cols(tape, x, 2 * hidden, hidden), recalled));
    struct var *apart = ops_add(tape, h, ops_affine(tape, n, -1, 0));

    return ops_add(tape, n, token_mul(tape, z, apart));
}

/* h where the token is padding, next where it is not. */
static struct var *keep_padding(struct tape *tape, struct var *h, struct var *next,
                                const nn_real *mask, int length)
{
    nn_real *live = tape_reals(tape, (size_t)h->rows);
    bool all = true;

    for (int i = 0; i < h->rows; i++) {
        live[i] = mask[(size_t)i * (size_t)length] != 0;
        all = all && live[i] != 0;
    }
    return all ? next : token_between(tape, h, next, live);
}

/* tokens (sequences * length, inputs); gives the last state (sequences, hidden), 0 for a
 * sequence without tokens. */
static struct var *gru_forward(const struct seqnet_gru *gru, struct tape *tape,
                               struct params *params, struct var *tokens,
                               const nn_real *mask, int sequences)
{
    int length = tokens->rows / sequences;
    struct var *x = mlp_layer_forward(&gru->token, tape, params, tokens);
    struct var *h = tape_input(tape, sequences, gru->hidden, NULL);

    for (int t = 0; t < length; t++) {
        struct var *now = token_slice_rows(tape, x, t, length, sequences);
        struct var *next = advance(gru, tape, params, now, h);

        h = keep_padding(tape, h, next, mask + t, length);
    }
    return h;
}

static struct var *norm_forward(const struct seqnet_norm *norm, struct tape *tape,
                                struct params *params, struct var *x)
{
    return token_layer_norm(tape, x, tape_param(tape, params, norm->gain),
                            tape_param(tape, params, norm->shift));
}

/* One head: weights of every token over the tokens of its sequence, then their values. */
static struct var *attention_head(const struct seqnet_encoder *encoder, struct tape *tape,
                                  struct var *projected, int index, const nn_real *mask,
                                  int sequences)
{
    int width = encoder->width, size = width / encoder->heads, at = index * size;
    struct var *query = ops_slice_cols(tape, projected, at, size);
    struct var *key = ops_slice_cols(tape, projected, width + at, size);
    struct var *value = ops_slice_cols(tape, projected, 2 * width + at, size);
    nn_real scale = (nn_real)(1 / sqrt((double)size));
    struct var *scores = token_group_matmul(tape, query, key, sequences, true, scale);

    return token_group_matmul(tape, token_softmax(tape, scores, mask, sequences), value,
                              sequences, false, 1);
}

static struct var *attention(const struct seqnet_encoder *encoder, struct tape *tape,
                             struct params *params, struct var *x, const nn_real *mask,
                             int sequences)
{
    struct var *projected = mlp_layer_forward(&encoder->project, tape, params, x);
    struct var *heads = attention_head(encoder, tape, projected, 0, mask, sequences);

    for (int i = 1; i < encoder->heads; i++)
        heads = token_concat_cols(
            tape, heads, attention_head(encoder, tape, projected, i, mask, sequences));
    return mlp_layer_forward(&encoder->merge, tape, params, heads);
}

/* The mean over the tokens of each sequence (sequences, width). */
static struct var *encoder_forward(const struct seqnet_encoder *encoder,
                                   struct tape *tape, struct params *params,
                                   struct var *tokens, const nn_real *mask, int sequences)
{
    struct var *x = mlp_layer_forward(&encoder->embed, tape, params, tokens);
    struct var *inner = norm_forward(&encoder->before_attention, tape, params, x);

    x = ops_add(tape, x, attention(encoder, tape, params, inner, mask, sequences));
    inner = norm_forward(&encoder->before_inner, tape, params, x);
    x = ops_add(tape, x, mlp_forward(&encoder->inner, tape, params, inner));
    return token_masked_mean(tape, norm_forward(&encoder->last, tape, params, x), mask,
                             sequences);
}

struct var *seqnet_forward(const struct seqnet *net, struct tape *tape,
                           struct params *params, struct seqnet_batch batch)
{
    int n = batch.sequences;
    struct var *tokens =
        tape_input(tape, n * batch.length, net->token_inputs, batch.tokens);
    struct var *query = tape_input(tape, n, net->query_inputs, batch.query);
    struct var *pooled =
        net->kind == SEQNET_GRU
            ? gru_forward(&net->gru, tape, params, tokens, batch.mask, n)
            : encoder_forward(&net->encoder, tape, params, tokens, batch.mask, n);

    return mlp_forward(&net->head, tape, params, token_concat_cols(tape, pooled, query));
}
