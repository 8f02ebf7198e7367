/* encoder.h - one-layer Transformer encoder over a batch of padded token sequences
 *
 * Tokens are first brought to the model's width; then self-attention and a feed-forward
 * part, each added to its input after a layer norm, and a last norm.  No positions: the
 * tokens are a set.  The struct holds ids only, as struct mlp does. */
#ifndef CORGI_LAB_NN_ENCODER_H
#define CORGI_LAB_NN_ENCODER_H

#include "nn/mlp.h"

struct encoder_norm {
    int gain, shift; /* (1, width) */
};

struct encoder {
    struct mlp_layer embed;   /* (inputs, width) */
    struct mlp_layer project; /* (width, 3 width): queries, keys, values */
    struct mlp_layer merge;   /* (width, width) */
    struct mlp inner;         /* width, inner, width */
    struct encoder_norm before_attention, before_inner, last;
    int width, heads;
};

struct encoder_shape {
    int inputs; /* numbers a token */
    int width;  /* of the model; a multiple of heads */
    int heads;
    int inner; /* hidden width of the feed-forward part */
};

void encoder_init(struct encoder *encoder, struct params *params, const char *name,
                  struct encoder_shape shape, struct rng *rng);

/* tokens (sequences * length, inputs), mask (sequences, length) of 1 and 0 or NULL; gives
 * (sequences * length, width).  Rows of padding hold numbers nobody should read: pool
 * with rowwise_masked_mean(). */
struct var *encoder_forward(const struct encoder *encoder, struct tape *tape,
                            struct params *params, struct var *tokens,
                            const nn_real *mask, int sequences);

#endif
