/* seqnet.c - observations and a query to a few numbers, see seqnet.h */
#include "lab/nn/seqnet.h"

#include "lab/nn/rowwise.h"
#include "nn/shape.h"

#include <stdio.h>

void seqnet_init(struct seqnet *net, struct params *params, const char *name,
                 struct seqnet_shape shape, struct rng *rng)
{
    const int widths[] = {shape.width + shape.query_inputs, shape.head, shape.outputs};
    char full[PARAMS_NAME_SIZE];

    *net = (struct seqnet){.kind = shape.kind,
                           .token_inputs = shape.token_inputs,
                           .query_inputs = shape.query_inputs};
    if (shape.kind == SEQNET_GRU) {
        snprintf(full, sizeof(full), "%s.gru", name);
        gru_init(&net->gru, params, full, shape.token_inputs, shape.width, rng);
    } else {
        snprintf(full, sizeof(full), "%s.encoder", name);
        encoder_init(&net->encoder, params, full,
                     (struct encoder_shape){.inputs = shape.token_inputs,
                                            .width = shape.width,
                                            .heads = shape.heads,
                                            .inner = shape.inner},
                     rng);
    }
    snprintf(full, sizeof(full), "%s.head", name);
    mlp_init(&net->head, params, full, widths, 3, rng);
}

struct var *seqnet_forward(const struct seqnet *net, struct tape *tape,
                           struct params *params, struct seqnet_batch batch)
{
    int n = batch.sequences;
    struct var *tokens =
        tape_input(tape, n * batch.length, net->token_inputs, batch.tokens);
    struct var *query = tape_input(tape, n, net->query_inputs, batch.query);
    struct var *pooled;

    if (net->kind == SEQNET_GRU)
        pooled = gru_forward(&net->gru, tape, params, tokens, batch.mask, n);
    else
        pooled = rowwise_masked_mean(
            tape, encoder_forward(&net->encoder, tape, params, tokens, batch.mask, n),
            batch.mask, n);
    return mlp_forward(&net->head, tape, params, shape_concat_cols(tape, pooled, query));
}
