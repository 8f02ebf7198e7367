/* seq.c - sequence networks with the weights that ship: fold_net.c asks them for `corgi
 * eval` */
#include "lab/eval/seq.h"

#include "base/embed.h"
#include "base/mem.h"
#include "base/rng.h"
#include "nn/gemm.h"
#include "nn/weights.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BATCH       192
#define MEAN_SCALE  0.3f
#define WIDTH_SHIFT (-1.5f)

struct seq {
    struct params *params;
    struct seqnet net;
};

EMBED(shipped_gru, CORGI_WEIGHTS_DIR "/p2-gru.bin");
EMBED(shipped_transformer, CORGI_WEIGHTS_DIR "/p2-transformer.bin");

struct seq *seq_shipped(enum seqnet_kind kind)
{
    bool gru = kind == SEQNET_GRU;
    const unsigned char *bytes = gru ? shipped_gru : shipped_transformer;
    const unsigned char *end = gru ? shipped_gru_end : shipped_transformer_end;
    struct seq *s = mem_new(struct seq);
    struct seqnet_shape shape = {.kind = kind,
                                 .token_inputs = SEQ_TOKEN,
                                 .query_inputs = STATS_FEATURES,
                                 .width = 32,
                                 .heads = 4,
                                 .inner = 64,
                                 .head = 32,
                                 .outputs = 2};
    struct err err = {0};
    struct rng rng;

    rng_init(&rng, 1);
    s->params = params_create();
    seqnet_init(&s->net, s->params, "p2", shape, &rng);
    if (weights_decode(s->params, bytes, (size_t)(end - bytes), &err) < 0) {
        /* Our own build put them there: a broken binary, not a broken input. */
        fprintf(stderr, "weights of a compared network: %s\n", err.text);
        abort();
    }
    return s;
}

void seq_destroy(struct seq *s)
{
    if (!s)
        return;
    params_destroy(s->params);
    free(s);
}

struct gp *seq_kernel(const struct measured *table)
{
    struct kernel_params params;
    struct gp *core;

    kernel_default(&params);
    core = gp_create(&params, true);
    for (int j = 0; j < table->jobs; j++)
        gp_add_job(core, &table->job[j]);
    for (int g = 0; g < table->gpus; g++)
        gp_add_gpu(core, &table->gpu[g]);
    return core;
}

static void fill_token(const struct gp *kernel, struct cell cell, struct cell seen,
                       double value, double correlation, float base, float *token)
{
    const struct job_trait *jobs = kernel->space.jobs;

    token[0] = 4 * ((float)value - base);
    token[1] = (float)correlation;
    token[2] = token[0] * token[1];
    token[3] = seen.gpu == cell.gpu;
    token[4] = seen.job == cell.job;
    token[5] = seen.other == cell.other;
    token[6] = jobs[seen.job].family == jobs[cell.job].family;
    token[7] = jobs[seen.other].family == jobs[cell.other].family;
}

void seq_tokens(const struct gp *kernel, const struct stats_seen *seen, struct cell cell,
                struct seq_row *row)
{
    const struct kernel_space *space = &kernel->space;
    const struct kernel *k = &kernel->kernel;
    double best[SEQ_LENGTH], own = kernel_value(k, space, cell, cell);
    size_t chosen[SEQ_LENGTH], used = 0;

    for (size_t i = 0; i < seen->count; i++) {
        struct cell it = seen->cells[i];
        double likeness =
            kernel_value(k, space, cell, it) / sqrt(own * kernel_value(k, space, it, it));
        size_t at = used;

        while (at > 0 && best[at - 1] < likeness) {
            if (at < SEQ_LENGTH) {
                best[at] = best[at - 1];
                chosen[at] = chosen[at - 1];
            }
            at--;
        }
        if (at < SEQ_LENGTH) {
            best[at] = likeness;
            chosen[at] = i;
            used += used < SEQ_LENGTH;
        }
    }
    memset(row->tokens, 0, sizeof(row->tokens));
    for (size_t i = 0; i < SEQ_LENGTH; i++) {
        row->mask[i] = i < used;
        if (i < used)
            fill_token(kernel, cell, seen->cells[chosen[i]], seen->values[chosen[i]],
                       best[i], row->stat.base, row->tokens + i * SEQ_TOKEN);
    }
}

/* Up to BATCH rows on an empty arena. */
static const struct var *forward(const struct seq *s, struct arena *arena,
                                 const struct seq_row *rows, size_t count)
{
    float *tokens = arena_array(arena, float, count *SEQ_LENGTH *SEQ_TOKEN);
    float *mask = arena_array(arena, float, count *SEQ_LENGTH);
    float *query = arena_array(arena, float, count *STATS_FEATURES);

    for (size_t i = 0; i < count; i++) {
        memcpy(tokens + i * SEQ_LENGTH * SEQ_TOKEN, rows[i].tokens,
               sizeof(rows[i].tokens));
        memcpy(mask + i * SEQ_LENGTH, rows[i].mask, sizeof(rows[i].mask));
        memcpy(query + i * STATS_FEATURES, rows[i].stat.x, sizeof(rows[i].stat.x));
    }
    return seqnet_forward(&s->net, arena, s->params,
                          (struct seqnet_batch){.sequences = (int)count,
                                                .length = SEQ_LENGTH,
                                                .tokens = tokens,
                                                .mask = mask,
                                                .query = query});
}

void seq_predict(const struct seq *s, const struct seq_row *rows, size_t count,
                 struct statnet_guess *out)
{
    struct arena *arena = arena_create();

    gemm_setup();
    for (size_t first = 0; first < count; first += BATCH) {
        size_t n = count - first < BATCH ? count - first : BATCH;
        const struct var *answer;

        arena_reset(arena);
        answer = forward(s, arena, rows + first, n);
        for (size_t i = 0; i < n; i++) {
            double width = (double)(answer->value[2 * i + 1] + WIDTH_SHIFT);

            out[first + i].mean =
                (double)(rows[first + i].stat.base + MEAN_SCALE * answer->value[2 * i]);
            out[first + i].sd = sqrt(2) * exp(fmin(fmax(width, -4), 1));
        }
    }
    arena_destroy(arena);
}
