/* seq_shipped.c - weights of the compared architectures, see seq_shipped() in seq.h */
#include "lab/eval/seq.h"

#include "base/embed.h"
#include "nn/weights.h"

#include <stdio.h>
#include <stdlib.h>

EMBED(shipped_gru, CORGI_WEIGHTS_DIR "/p2-gru.bin");
EMBED(shipped_transformer, CORGI_WEIGHTS_DIR "/p2-transformer.bin");

struct seq *seq_shipped(enum seqnet_kind kind)
{
    bool gru = kind == SEQNET_GRU;
    const unsigned char *bytes = gru ? shipped_gru : shipped_transformer;
    const unsigned char *end = gru ? shipped_gru_end : shipped_transformer_end;
    struct seq *seq = seq_create(kind, 1);
    struct err err = {0};

    if (weights_decode(seq_params(seq), bytes, (size_t)(end - bytes), NULL, &err) < 0) {
        /* Our own build put them there: a broken binary, not a broken input. */
        fprintf(stderr, "weights of a compared network: %s\n", err.text);
        abort();
    }
    return seq;
}
