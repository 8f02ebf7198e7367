/* stat_network.c - rates carried over: rates.c asks it about rows of statistics, `corgi
 * train` trains it */
#include "model/stat_network.h"

#include "base/embed.h"
#include "base/mem.h"
#include "nn/adam.h"
#include "nn/infer.h"
#include "nn/weights.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Rows answered at once: few enough to stay in the cache. */
#define CHUNK 256

/* What the outputs mean: a correction in units of this, and a log width around that. */
#define MEAN_SCALE  0.3f
#define WIDTH_SHIFT (-1.5f)
#define WIDTH_LOW   (-4.0)
#define WIDTH_HIGH  1.0

static const int widths[] = {STATNET_INPUTS, 48, 32, 2};

struct statnet_trainer {
    struct statnet *net;
    struct mlp_batch *batch;
    struct adam *adam;
};

struct statnet *statnet_create(const char *name, struct rng *rng)
{
    struct statnet *net = mem_new(struct statnet);
    nn_real *last;

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

void statnet_repack(struct statnet *net)
{
    infer_destroy(net->infer);
    net->infer = infer_create(&net->mlp, net->params);
}

static void predict_some(const struct statnet *net, const struct statnet_row *rows,
                         size_t count, struct statnet_guess *out)
{
    float x[CHUNK * STATNET_INPUTS], y[CHUNK * 2];

    for (size_t i = 0; i < count; i++)
        memcpy(x + i * STATNET_INPUTS, rows[i].x, sizeof(rows[i].x));
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
    t->batch = mlp_batch_create(&net->mlp);
    t->adam = adam_create(net->params, (struct adam_options){.learning_rate = rate,
                                                             .total_steps = steps,
                                                             .clip_norm = 5});
    return t;
}

void statnet_trainer_destroy(struct statnet_trainer *t)
{
    if (!t)
        return;
    mlp_batch_destroy(t->batch);
    adam_destroy(t->adam);
    free(t);
}

double statnet_train_step(struct statnet_trainer *t, const struct statnet_row *rows,
                          size_t count)
{
    nn_real *x = mem_array(nn_real, count * (STATNET_INPUTS + 7));
    nn_real *target = x + count * STATNET_INPUTS;
    nn_real *mean = target + count, *width = mean + count;
    nn_real *by_mean = width + count, *by_width = by_mean + count;
    nn_real *by_y = by_width + count; /* (count, 2) */
    const nn_real *y;
    double loss;

    for (size_t i = 0; i < count; i++) {
        memcpy(x + i * STATNET_INPUTS, rows[i].x, sizeof(rows[i].x));
        target[i] = rows[i].target;
    }
    y = mlp_forward(t->batch, t->net->params, x, (int)count);
    for (size_t i = 0; i < count; i++) {
        mean[i] = MEAN_SCALE * y[2 * i] + rows[i].base;
        width[i] = y[2 * i + 1] + WIDTH_SHIFT;
    }
    loss = mlp_laplace(mean, width, target, count, by_mean, by_width);
    for (size_t i = 0; i < count; i++) {
        by_y[2 * i] = MEAN_SCALE * by_mean[i];
        by_y[2 * i + 1] = by_width[i];
    }
    mlp_backward(t->batch, t->net->params, by_y, NULL);
    adam_step(t->adam, t->net->params, loss);
    free(x);
    return loss;
}

/* ---- the weights inside the binary ------------------------------------------------ */

EMBED(shipped_alone, CORGI_WEIGHTS_DIR "/alone.bin");

static struct statnet *unpack(const unsigned char *bytes, const unsigned char *end)
{
    struct statnet *net;
    struct err err = {0};
    struct rng rng;

    rng_init(&rng, 1);
    net = statnet_create("alone", &rng);
    if (weights_decode(net->params, bytes, (size_t)(end - bytes), &err) < 0) {
        /* Our own build put them there: a broken binary, not a broken input. */
        fprintf(stderr, "weights of alone: %s\n", err.text);
        abort();
    }
    statnet_repack(net);
    return net;
}

struct statnet *statnet_shipped(void)
{
    return unpack(shipped_alone, shipped_alone_end);
}
