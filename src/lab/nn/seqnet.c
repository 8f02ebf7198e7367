/* seqnet.c - observations and a query to a few numbers: lab/eval/seq.c asks it for
 * `corgi eval` */
#include "lab/nn/seqnet.h"

#include "lab/nn/token_ops.h"

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
static struct var *advance(const struct seqnet_gru *gru, struct arena *arena,
                           struct params *params, struct var *x, struct var *h)
{
    int hidden = gru->hidden;
    struct var *from_h = ops_layer(arena, &gru->state, params, h);
    struct var *gates =
        token_sigmoid(arena, ops_add(arena, ops_slice_cols(arena, x, 0, 2 * hidden),
                                     ops_slice_cols(arena, from_h, 0, 2 * hidden)));
    struct var *r = ops_slice_cols(arena, gates, 0, hidden);
    struct var *z = ops_slice_cols(arena, gates, hidden, hidden);
    struct var *recalled =
        token_mul(arena, r, ops_slice_cols(arena, from_h, 2 * hidden, hidden));
    struct var *n = token_tanh(
        arena, ops_add(arena, ops_slice_cols(arena, x, 2 * hidden, hidden), recalled));
    struct var *apart = ops_add(arena, h, ops_affine(arena, n, -1, 0));

    return ops_add(arena, n, token_mul(arena, z, apart));
}

/* h where the token is padding, next where it is not. */
static struct var *keep_padding(struct arena *arena, struct var *h, struct var *next,
                                const nn_real *mask, int length)
{
    nn_real *live = arena_array(arena, nn_real, (size_t)h->rows);
    bool all = true;

    for (int i = 0; i < h->rows; i++) {
        live[i] = mask[(size_t)i * (size_t)length] != 0;
        all = all && live[i] != 0;
    }
    return all ? next : token_between(arena, h, next, live);
}

/* tokens (sequences * length, inputs); gives the last state (sequences, hidden), 0 for a
 * sequence without tokens. */
static struct var *gru_forward(const struct seqnet_gru *gru, struct arena *arena,
                               struct params *params, struct var *tokens,
                               const nn_real *mask, int sequences)
{
    int length = tokens->rows / sequences;
    struct var *x = ops_layer(arena, &gru->token, params, tokens);
    struct var *h = ops_input(arena, sequences, gru->hidden, NULL);

    for (int t = 0; t < length; t++) {
        struct var *now = token_slice_rows(arena, x, t, length, sequences);
        struct var *next = advance(gru, arena, params, now, h);

        h = keep_padding(arena, h, next, mask + t, length);
    }
    return h;
}

static struct var *norm_forward(const struct seqnet_norm *norm, struct arena *arena,
                                struct params *params, struct var *x)
{
    return token_layer_norm(arena, x, ops_param(arena, params, norm->gain),
                            ops_param(arena, params, norm->shift));
}

/* One head: weights of every token over the tokens of its sequence, then their values. */
static struct var *attention_head(const struct seqnet_encoder *encoder,
                                  struct arena *arena, struct var *projected, int index,
                                  const nn_real *mask, int sequences)
{
    int width = encoder->width, size = width / encoder->heads, at = index * size;
    struct var *query = ops_slice_cols(arena, projected, at, size);
    struct var *key = ops_slice_cols(arena, projected, width + at, size);
    struct var *value = ops_slice_cols(arena, projected, 2 * width + at, size);
    nn_real scale = (nn_real)(1 / sqrt((double)size));
    struct var *scores = token_group_matmul(arena, query, key, sequences, true, scale);

    return token_group_matmul(arena, token_softmax(arena, scores, mask, sequences), value,
                              sequences, false, 1);
}

static struct var *attention(const struct seqnet_encoder *encoder, struct arena *arena,
                             struct params *params, struct var *x, const nn_real *mask,
                             int sequences)
{
    struct var *projected = ops_layer(arena, &encoder->project, params, x);
    struct var *heads = attention_head(encoder, arena, projected, 0, mask, sequences);

    for (int i = 1; i < encoder->heads; i++)
        heads = token_concat_cols(
            arena, heads, attention_head(encoder, arena, projected, i, mask, sequences));
    return ops_layer(arena, &encoder->merge, params, heads);
}

/* The mean over the tokens of each sequence (sequences, width). */
static struct var *encoder_forward(const struct seqnet_encoder *encoder,
                                   struct arena *arena, struct params *params,
                                   struct var *tokens, const nn_real *mask, int sequences)
{
    struct var *x = ops_layer(arena, &encoder->embed, params, tokens);
    struct var *inner = norm_forward(&encoder->before_attention, arena, params, x);

    x = ops_add(arena, x, attention(encoder, arena, params, inner, mask, sequences));
    inner = norm_forward(&encoder->before_inner, arena, params, x);
    x = ops_add(arena, x, ops_mlp(arena, &encoder->inner, params, inner));
    return token_masked_mean(arena, norm_forward(&encoder->last, arena, params, x), mask,
                             sequences);
}

struct var *seqnet_forward(const struct seqnet *net, struct arena *arena,
                           struct params *params, struct seqnet_batch batch)
{
    int n = batch.sequences;
    struct var *tokens =
        ops_input(arena, n * batch.length, net->token_inputs, batch.tokens);
    struct var *query = ops_input(arena, n, net->query_inputs, batch.query);
    struct var *pooled =
        net->kind == SEQNET_GRU
            ? gru_forward(&net->gru, arena, params, tokens, batch.mask, n)
            : encoder_forward(&net->encoder, arena, params, tokens, batch.mask, n);

    return ops_mlp(arena, &net->head, params, token_concat_cols(arena, pooled, query));
}
