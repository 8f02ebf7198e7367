/* gru.c - gated recurrent unit, see gru.h */
#include "lab/nn/gru.h"

#include "nn/pointwise.h"
#include "nn/shape.h"

#include <assert.h>
#include <stdio.h>

void gru_init(struct gru *gru, struct params *params, const char *name, int inputs,
              int hidden, struct rng *rng)
{
    char full[PARAMS_NAME_SIZE];

    gru->hidden = hidden;
    snprintf(full, sizeof(full), "%s.token", name);
    mlp_layer_init(&gru->token, params, full, inputs, 3 * hidden);
    snprintf(full, sizeof(full), "%s.state", name);
    mlp_layer_init(&gru->state, params, full, hidden, 3 * hidden);
    params_fill_xavier(params, gru->token.weight, rng);
    params_fill_xavier(params, gru->state.weight, rng);
}

/* One token further: x holds its part of the gates already. */
static struct var *advance(const struct gru *gru, struct tape *tape,
                           struct params *params, struct var *x, struct var *h)
{
    int hidden = gru->hidden;
    struct var *from_h = mlp_layer_forward(&gru->state, tape, params, h);
    struct var *gates = pointwise_sigmoid(
        tape, pointwise_add(tape, shape_slice_cols(tape, x, 0, 2 * hidden),
                            shape_slice_cols(tape, from_h, 0, 2 * hidden)));
    struct var *r = shape_slice_cols(tape, gates, 0, hidden);
    struct var *z = shape_slice_cols(tape, gates, hidden, hidden);
    struct var *recalled =
        pointwise_mul(tape, r, shape_slice_cols(tape, from_h, 2 * hidden, hidden));
    struct var *n = pointwise_tanh(
        tape,
        pointwise_add(tape, shape_slice_cols(tape, x, 2 * hidden, hidden), recalled));

    return pointwise_add(tape, n, pointwise_mul(tape, z, pointwise_sub(tape, h, n)));
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
    if (all)
        return next;
    return pointwise_add(tape, h,
                         pointwise_scale_rows(tape, pointwise_sub(tape, next, h), live));
}

struct var *gru_forward(const struct gru *gru, struct tape *tape, struct params *params,
                        struct var *tokens, const nn_real *mask, int sequences)
{
    int length = tokens->rows / sequences;
    struct var *x = mlp_layer_forward(&gru->token, tape, params, tokens);
    struct var *h = tape_input(tape, sequences, gru->hidden, NULL);

    assert(tokens->rows == sequences * length);
    for (int t = 0; t < length; t++) {
        struct var *now = shape_slice_rows(tape, x, t, length, sequences);
        struct var *next = advance(gru, tape, params, now, h);

        h = mask ? keep_padding(tape, h, next, mask + t, length) : next;
    }
    return h;
}
