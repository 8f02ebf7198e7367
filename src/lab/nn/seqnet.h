/* seqnet.h - a set of observations and a query to a few numbers
 *
 * The GRU and Transformer variants of P2: tokens are encoded and pooled to one row a
 * sequence (the GRU's last state, the encoder's masked mean), the query's features are
 * put beside it, and a feed-forward head answers.  A sequence without tokens is answered
 * from its query alone.  The structs hold ids only, as struct mlp does.
 *
 *     struct seqnet net;
 *     seqnet_init(&net, params, "p2", (struct seqnet_shape){
 *         .kind = SEQNET_GRU, .token_inputs = 8, .query_inputs = 30, .width = 32,
 *         .head = 32, .outputs = 2}, &rng);
 *     out = seqnet_forward(&net, arena, params, (struct seqnet_batch){
 *         .sequences = 256, .length = 16, .tokens = t, .mask = m, .query = q}); */
#pragma once

#include "lab/nn/ops.h"

enum seqnet_kind {
    SEQNET_GRU,
    SEQNET_TRANSFORMER,
};

struct seqnet_shape {
    enum seqnet_kind kind;
    int token_inputs; /* numbers a token */
    int query_inputs; /* numbers a query */
    int width;        /* of the state or the model; a multiple of heads */
    int heads,
        inner; /* of the Transformer only; inner: hidden width of its second part */
    int head;  /* hidden width of the feed-forward head */
    int outputs;
};

/* Gated recurrent unit.  At each token, with state h: r, z = sigmoid(x Wx + h Wh), n =
 * tanh(x Wn + r (h Un)), h = (1 - z) n + z h, biases on both sides.  Padding leaves the
 * state alone, wherever in the sequence it stands. */
struct seqnet_gru {
    struct mlp_layer token; /* (inputs, 3 hidden): r, z, n */
    struct mlp_layer state; /* (hidden, 3 hidden) */
    int hidden;
};

struct seqnet_norm {
    int gain, shift; /* (1, width) */
};

/* One-layer Transformer encoder.  Tokens are first brought to the model's width; then
 * self-attention and a feed-forward part, each added to its input after a layer norm, and
 * a last norm.  No positions: the tokens are a set. */
struct seqnet_encoder {
    struct mlp_layer embed;   /* (inputs, width) */
    struct mlp_layer project; /* (width, 3 width): queries, keys, values */
    struct mlp_layer merge;   /* (width, width) */
    struct mlp inner;         /* width, inner, width */
    struct seqnet_norm before_attention, before_inner, last;
    int width, heads;
};

struct seqnet {
    enum seqnet_kind kind;
    struct seqnet_gru gru;
    struct seqnet_encoder encoder;
    struct mlp head; /* width + query, head, outputs */
    int token_inputs, query_inputs;
};

/* Arrays are borrowed for the call. */
struct seqnet_batch {
    int sequences, length;
    const nn_real *tokens; /* (sequences, length, token_inputs) */
    const nn_real *mask;   /* (sequences, length) 1 for a token, 0 for padding */
    const nn_real *query;  /* (sequences, query_inputs) */
};

/* Xavier; matrices are called "name.gru.token.weight" and so on. */
void seqnet_init(struct seqnet *net, struct params *params, const char *name,
                 struct seqnet_shape shape, struct rng *rng);

/* Gives (sequences, outputs). */
struct var *seqnet_forward(const struct seqnet *net, struct arena *arena,
                           struct params *params, struct seqnet_batch batch);
