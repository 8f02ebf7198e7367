/* stat_network.c - see stat_network.h */
#include "model/stat_network.h"

#include "base/embed.h"
#include "base/mem.h"
#include "base/str.h"
#include "nn/nn.h"
#include "nn/weights.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_SIZE 8

/* Rows answered at once: few enough to stay in the cache. */
#define CHUNK 256

/* What the outputs mean: a correction in units of this, and a log width around that. */
#define MEAN_SCALE  0.3f
#define WIDTH_SHIFT (-1.5f)
#define WIDTH_LOW   (-4.0)
#define WIDTH_HIGH  1.0

static const int widths[] = {STATS_FEATURES, 48, 32, 2};

struct statnet {
    char name[NAME_SIZE];
    struct params *params;
    struct mlp mlp;
    struct infer *infer;
};

struct statnet_trainer {
    struct statnet *net;
    struct tape *tape;
    struct adam *adam;
    float *x, *base, *target; /* (capacity) */
    size_t capacity;
};

struct statnet *statnet_create(const char *name, struct rng *rng)
{
    struct statnet *net = mem_new(struct statnet);
    nn_real *last;

    str_copy(net->name, sizeof(net->name), name);
    net->params = params_create();
    mlp_init(&net->mlp, net->params, name, widths, 4, rng);
    /* Start close to the shrunk means. */
    last = params_value(net->params, net->mlp.layers[2].weight);
    for (int i = 0; i < widths[2] * widths[3]; i++)
        last[i] *= 0.1f;
    net->infer = infer_create(&net->mlp, net->params);
    return net;
}

void statnet_destroy(struct statnet *net)
{
    if (!net)
        return;
    params_destroy(net->params);
    infer_destroy(net->infer);
    free(net);
}

struct statnet *statnet_dup(const struct statnet *net)
{
    struct statnet *copy = mem_dup(net, 1, sizeof(*net));

    copy->params = params_dup(net->params);
    copy->infer = infer_create(&copy->mlp, copy->params);
    return copy;
}

struct params *statnet_params(struct statnet *net)
{
    return net->params;
}

void statnet_repack(struct statnet *net)
{
    infer_destroy(net->infer);
    net->infer = infer_create(&net->mlp, net->params);
}

static void predict_some(const struct statnet *net, const struct statnet_row *rows,
                         size_t count, struct statnet_guess *out)
{
    float x[CHUNK * STATS_FEATURES], y[CHUNK * 2];

    for (size_t i = 0; i < count; i++)
        memcpy(x + i * STATS_FEATURES, rows[i].x, sizeof(rows[i].x));
    infer_run(net->infer, x, count, y);
    for (size_t i = 0; i < count; i++) {
        double width = (double)(y[2 * i + 1] + WIDTH_SHIFT);

        out[i].mean = (double)(rows[i].base + MEAN_SCALE * y[2 * i]);
        out[i].sd = sqrt(2) * exp(fmin(fmax(width, WIDTH_LOW), WIDTH_HIGH));
    }
}

void statnet_predict(const struct statnet *net, const struct statnet_row *rows,
                     size_t count, struct statnet_guess *out)
{
    for (size_t at = 0; at < count; at += CHUNK)
        predict_some(net, rows + at, count - at < CHUNK ? count - at : CHUNK, out + at);
}

struct statnet_trainer *statnet_trainer_create(struct statnet *net, double rate,
                                               int steps)
{
    struct statnet_trainer *t = mem_new(struct statnet_trainer);

    t->net = net;
    t->tape = tape_create();
    t->adam = adam_create(net->params, (struct adam_options){.learning_rate = rate,
                                                             .total_steps = steps,
                                                             .clip_norm = 5});
    return t;
}

void statnet_trainer_destroy(struct statnet_trainer *t)
{
    if (!t)
        return;
    tape_destroy(t->tape);
    adam_destroy(t->adam);
    free(t->x);
    free(t->base);
    free(t->target);
    free(t);
}

static void fill(struct statnet_trainer *t, const struct statnet_row *rows, size_t count)
{
    if (count > t->capacity) {
        free(t->x);
        free(t->base);
        free(t->target);
        t->x = mem_array(float, count *STATS_FEATURES);
        t->base = mem_array(float, count);
        t->target = mem_array(float, count);
        t->capacity = count;
    }
    for (size_t i = 0; i < count; i++) {
        for (size_t f = 0; f < STATS_FEATURES; f++)
            t->x[i * STATS_FEATURES + f] = rows[i].x[f];
        t->base[i] = rows[i].base;
        t->target[i] = rows[i].target;
    }
}

double statnet_train_step(struct statnet_trainer *t, const struct statnet_row *rows,
                          const float *weight, size_t count)
{
    struct var *out, *mean, *width, *loss;
    struct params *params = t->net->params;

    fill(t, rows, count);
    tape_reset(t->tape);
    out = mlp_forward(&t->net->mlp, t->tape, params,
                      tape_input(t->tape, (int)count, STATS_FEATURES, t->x));
    mean = pointwise_add(
        t->tape,
        pointwise_affine(t->tape, shape_slice_cols(t->tape, out, 0, 1), MEAN_SCALE, 0),
        tape_input(t->tape, (int)count, 1, t->base));
    width =
        pointwise_affine(t->tape, shape_slice_cols(t->tape, out, 1, 1), 1, WIDTH_SHIFT);
    loss = loss_laplace(t->tape, mean, width, t->target, weight);
    tape_backward(t->tape, loss);
    adam_step(t->adam, params, (double)loss->value[0]);
    return (double)loss->value[0];
}

/* ---- the weights inside the binary ----------------------------------------------------
 */

EMBED(shipped_p1, CORGI_WEIGHTS_DIR "/p1.bin");
EMBED(shipped_p2, CORGI_WEIGHTS_DIR "/p2.bin");
EMBED(shipped_alone, CORGI_WEIGHTS_DIR "/alone.bin");

static const struct {
    const char *name;
    const unsigned char *bytes, *end;
} shipped[] = {
    {"p1", shipped_p1, shipped_p1_end},
    {"p2", shipped_p2, shipped_p2_end},
    {"alone", shipped_alone, shipped_alone_end},
};

struct statnet *statnet_shipped(const char *name)
{
    struct statnet *net;
    struct err err = {0};
    struct rng rng;
    size_t at = 0;

    while (strcmp(shipped[at].name, name))
        at++;
    rng_init(&rng, 1);
    net = statnet_create(name, &rng);
    if (weights_decode(statnet_params(net), shipped[at].bytes,
                       (size_t)(shipped[at].end - shipped[at].bytes), NULL, &err) < 0) {
        /* Our own build put them there: a broken binary, not a broken input. */
        fprintf(stderr, "weights of %s: %s\n", name, err.text);
        abort();
    }
    statnet_repack(net);
    return net;
}
