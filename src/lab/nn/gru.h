/* gru.h - gated recurrent unit over a batch of padded token sequences
 *
 * At each token, with state h: r, z = sigmoid(x Wx + h Wh), n = tanh(x Wn + r (h Un)),
 * h = (1 - z) n + z h, biases on both sides.  Padding leaves the state alone, wherever in
 * the sequence it stands.  The struct holds ids only, as struct mlp does. */
#ifndef CORGI_LAB_NN_GRU_H
#define CORGI_LAB_NN_GRU_H

#include "nn/mlp.h"

struct gru {
    struct mlp_layer token; /* (inputs, 3 hidden): r, z, n */
    struct mlp_layer state; /* (hidden, 3 hidden) */
    int hidden;
};

/* Add "name.token.weight" and so on, Xavier. */
void gru_init(struct gru *gru, struct params *params, const char *name, int inputs,
              int hidden, struct rng *rng);

/* tokens (sequences * length, inputs), mask (sequences, length) of 1 and 0 or NULL; gives
 * the last state (sequences, hidden), 0 for a sequence without tokens. */
struct var *gru_forward(const struct gru *gru, struct tape *tape, struct params *params,
                        struct var *tokens, const nn_real *mask, int sequences);

#endif
