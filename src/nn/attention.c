/* attention.c - forward, backward and training of the network behind P1 and P2:
 * model/p1.c and p2.c ask it, lessons and `corgi train` train it */
#include "nn/attention.h"

#include "base/mem.h"
#include "nn/adam.h"
#include "nn/infer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEADS = ATTENTION_HEADS, INPUTS = ATTENTION_INPUTS };

/* What the outputs mean: a correction in units of this, and a log width around that. */
#define MEAN_SCALE  0.3f
#define WIDTH_SHIFT (-1.8f)
#define WIDTH_LOW   (-4.5f)
#define WIDTH_HIGH  1.0f

#define GATE_HEADS  0.5f /* where the two gates start */
#define GATE_UPDATE 0.8f
#define INPUT_SCALE 4.0f
#define SPREAD_MIN  1e-4f /* of a weighed variance */
#define CHUNK       256

static const int cell_widths[] = {INPUTS, 48, 32, 2};

/* What answers quickly, of the parameters as they are. */
static void pack(struct attention *net)
{
    if (net->alike.kind == SET_READER_FF)
        net->alike_infer = infer_create(&net->alike.mlp, net->params);
    net->cell_infer = infer_create(&net->cell, net->params);
}

struct attention *attention_create(const char *name, enum set_reader_kind kind,
                                   struct rng *rng)
{
    struct attention *net = mem_new(struct attention);
    char part[PARAMS_NAME_SIZE];
    nn_real *last;

    net->params = params_create();
    snprintf(part, sizeof(part), "%s.alike", name);
    set_reader_init(&net->alike, net->params, part, kind, ATTENTION_ALIKE, HEADS, rng);
    snprintf(part, sizeof(part), "%s.cell", name);
    mlp_init(&net->cell, net->params, part, cell_widths, 4, rng);
    snprintf(part, sizeof(part), "%s.none", name);
    net->none = params_add(net->params, part, 1, HEADS);
    snprintf(part, sizeof(part), "%s.gate", name);
    net->gate = params_add(net->params, part, 1, 2);
    params_value(net->params, net->gate)[0] = GATE_HEADS;
    params_value(net->params, net->gate)[1] = GATE_UPDATE;
    last = params_value(net->params, net->cell.layers[2].weight);
    for (int i = 0; i < cell_widths[2] * cell_widths[3]; i++)
        last[i] *= (nn_real)0.1; /* start close to what the heads say */
    pack(net);
    return net;
}

void attention_destroy(struct attention *net)
{
    if (!net)
        return;
    params_destroy(net->params);
    infer_destroy(net->alike_infer);
    infer_destroy(net->cell_infer);
    free(net);
}

struct attention *attention_dup(const struct attention *net)
{
    struct attention *copy = mem_dup(net, 1, sizeof(*net));

    copy->params = params_dup(net->params);
    pack(copy);
    return copy;
}

void attention_repack(struct attention *net)
{
    infer_destroy(net->alike_infer);
    infer_destroy(net->cell_infer);
    pack(net);
}

void attention_case_fini(struct attention_case *c)
{
    free(c->alike);
    free(c->about);
    free(c->centre);
    free(c->error);
    free(c->update);
    free(c->residuals);
    free(c->target);
    *c = (struct attention_case){0};
}

/* ---- forward ----------------------------------------------------------------------- */

struct passed {      /* what one case gave on the way, kept for the way back */
    nn_real *weight; /* (known, HEADS) */
    nn_real *mean;   /* (cells + shown, HEADS) weighed residuals */
    nn_real *var;    /* (cells, HEADS) and their weighed variance */
    nn_real *update; /* (cells) what measurements correct */
    int largest;     /* the known job the first head weighs most; -1: none */
};

static void passed_init(struct passed *p, const struct attention_case *c)
{
    size_t cells = (size_t)c->cells, all = cells + (size_t)c->shown;

    p->weight = mem_array(nn_real, (size_t)c->known * HEADS + 1);
    p->mean = mem_array(nn_real, all * HEADS + 1);
    p->var = mem_array(nn_real, cells * HEADS + 1);
    p->update = mem_array(nn_real, cells + 1);
}

static void passed_fini(struct passed *p)
{
    free(p->weight);
    free(p->mean);
    free(p->var);
    free(p->update);
}

/* Softmax over known jobs and none; logits (known, HEADS). */
static void weigh(const nn_real *logits, const nn_real *none, int known, struct passed *p)
{
    p->largest = -1;
    for (int h = 0; h < HEADS; h++) {
        nn_real most = none[h], sum;

        for (int r = 0; r < known; r++)
            most = logits[r * HEADS + h] > most ? logits[r * HEADS + h] : most;
        sum = nn_exp(none[h] - most);
        for (int r = 0; r < known; r++)
            sum += p->weight[r * HEADS + h] = nn_exp(logits[r * HEADS + h] - most);
        for (int r = 0; r < known; r++)
            p->weight[r * HEADS + h] /= sum;
    }
    for (int r = 0; r < known; r++)
        if (p->largest < 0 || p->weight[r * HEADS] > p->weight[p->largest * HEADS])
            p->largest = r;
}

static void gather(const struct attention_case *c, const nn_real *gate, struct passed *p)
{
    for (size_t i = 0; i < c->residual_count; i++) {
        const struct attention_residual *r = &c->residuals[i];

        for (int h = 0; h < HEADS; h++) {
            nn_real part = p->weight[r->job * HEADS + h] * r->value;

            p->mean[r->cell * HEADS + h] += part;
            if (r->cell < c->cells)
                p->var[r->cell * HEADS + h] += part * r->value;
        }
    }
    for (int i = 0; i < c->cells * HEADS; i++)
        p->var[i] -= p->mean[i] * p->mean[i];
    for (int q = 0; q < c->cells; q++)
        for (int o = 0; o < c->shown; o++)
            p->update[q] += c->update[q * c->shown + o] *
                            (c->error[o] - gate[0] * p->mean[(c->cells + o) * HEADS]);
}

static nn_real clipped_var(nn_real var)
{
    return var > (nn_real)SPREAD_MIN ? var : (nn_real)SPREAD_MIN;
}

static void fill_inputs(const struct attention_case *c, const struct passed *p, int first,
                        int count, nn_real *x)
{
    nn_real most = p->largest < 0 ? 0 : p->weight[p->largest * HEADS];

    for (int q = first; q < first + count; q++, x += INPUTS) {
        memcpy(x, c->about + (size_t)q * ATTENTION_ABOUT,
               ATTENTION_ABOUT * sizeof(nn_real));
        for (int h = 0; h < HEADS; h++) {
            x[ATTENTION_ABOUT + h] = (nn_real)INPUT_SCALE * p->mean[q * HEADS + h];
            x[ATTENTION_ABOUT + HEADS + h] =
                (nn_real)INPUT_SCALE * nn_sqrt(clipped_var(p->var[q * HEADS + h]));
        }
        x[INPUTS - 2] = (nn_real)INPUT_SCALE * p->update[q];
        x[INPUTS - 1] = most;
    }
}

static nn_real mean_of(const struct attention_case *c, const struct passed *p,
                       const nn_real *gate, int q, const nn_real *y)
{
    return c->centre[q] + gate[0] * p->mean[q * HEADS] + gate[1] * p->update[q] +
           (nn_real)MEAN_SCALE * y[0];
}

/* out (known, HEADS). */
static void score(const struct attention *net, const struct attention_case *c,
                  nn_real *out)
{
    struct set_reader_batch *batch;

    if (net->alike_infer) {
        infer_run(net->alike_infer, c->alike, (size_t)c->known, out);
        return;
    }
    batch = set_reader_batch_create(&net->alike);
    memcpy(out, set_reader_forward(batch, net->params, c->alike, &c->known, 1),
           (size_t)c->known * HEADS * sizeof(*out));
    set_reader_batch_destroy(batch);
}

void attention_answer(const struct attention *net, const struct attention_case *c,
                      struct attention_guess *out)
{
    nn_real *logits = mem_array(nn_real, (size_t)c->known * HEADS + 1);
    nn_real x[CHUNK * INPUTS], y[CHUNK * 2];
    const nn_real *gate = params_value(net->params, net->gate);
    struct passed p;

    passed_init(&p, c);
    score(net, c, logits);
    weigh(logits, params_value(net->params, net->none), c->known, &p);
    gather(c, gate, &p);
    for (int at = 0; at < c->cells; at += CHUNK) {
        int count = c->cells - at < CHUNK ? c->cells - at : CHUNK;

        fill_inputs(c, &p, at, count, x);
        infer_run(net->cell_infer, x, (size_t)count, y);
        for (int i = 0; i < count; i++) {
            double width = (double)(y[2 * i + 1] + (nn_real)WIDTH_SHIFT);

            out[at + i].mean = (double)mean_of(c, &p, gate, at + i, y + 2 * i);
            out[at + i].sd =
                sqrt(2) * exp(fmin(fmax(width, (double)WIDTH_LOW), (double)WIDTH_HIGH));
        }
    }
    passed_fini(&p);
    free(logits);
}

/* ---- training ---------------------------------------------------------------------- */

struct attention_trainer {
    struct attention *net;
    struct set_reader_batch *alike;
    struct mlp_batch *cell;
    struct adam *adam;
};

struct attention_trainer *attention_trainer_create(struct attention *net, double rate,
                                                   int steps)
{
    struct attention_trainer *t = mem_new(struct attention_trainer);

    t->net = net;
    t->alike = set_reader_batch_create(&net->alike);
    t->cell = mlp_batch_create(&net->cell);
    t->adam = adam_create(net->params, (struct adam_options){.learning_rate = rate,
                                                             .total_steps = steps,
                                                             .clip_norm = 1});
    return t;
}

void attention_trainer_destroy(struct attention_trainer *t)
{
    if (!t)
        return;
    set_reader_batch_destroy(t->alike);
    mlp_batch_destroy(t->cell);
    adam_destroy(t->adam);
    free(t);
}

/* From the slopes by the cell part's inputs and by the means to those by the logits. */
static void back_case(const struct attention_case *c, const struct passed *p,
                      const nn_real *gate, const nn_real *by_x, const nn_real *by_mean,
                      nn_real *by_gate, nn_real *by_none, nn_real *by_logits)
{
    size_t cells = (size_t)c->cells, all = cells + (size_t)c->shown;
    nn_real *by_head = mem_array(nn_real, all * HEADS + 1);
    nn_real *by_var = mem_array(nn_real, cells * HEADS + 1);
    nn_real *by_weight = mem_array(nn_real, (size_t)c->known * HEADS + 1);

    for (int q = 0; q < c->cells; q++) {
        const nn_real *x = by_x + (size_t)q * INPUTS;
        nn_real by_update = gate[1] * by_mean[q] + (nn_real)INPUT_SCALE * x[INPUTS - 2];

        by_gate[0] += by_mean[q] * p->mean[q * HEADS];
        by_gate[1] += by_mean[q] * p->update[q];
        by_head[q * HEADS] += gate[0] * by_mean[q];
        for (int h = 0; h < HEADS; h++) {
            nn_real var = p->var[q * HEADS + h];
            nn_real slope = var > (nn_real)SPREAD_MIN
                                ? (nn_real)INPUT_SCALE * x[ATTENTION_ABOUT + HEADS + h] /
                                      (2 * nn_sqrt(var))
                                : 0;

            by_var[q * HEADS + h] = slope;
            by_head[q * HEADS + h] += (nn_real)INPUT_SCALE * x[ATTENTION_ABOUT + h] -
                                      2 * p->mean[q * HEADS + h] * slope;
        }
        for (int o = 0; o < c->shown; o++) {
            nn_real part = by_update * c->update[q * c->shown + o];

            by_gate[0] -= part * p->mean[(c->cells + o) * HEADS];
            by_head[(c->cells + o) * HEADS] -= part * gate[0];
        }
        if (p->largest >= 0)
            by_weight[p->largest * HEADS] += x[INPUTS - 1];
    }
    for (size_t i = 0; i < c->residual_count; i++) {
        const struct attention_residual *r = &c->residuals[i];

        for (int h = 0; h < HEADS; h++) {
            nn_real slope = by_head[r->cell * HEADS + h];

            if (r->cell < c->cells)
                slope += r->value * by_var[r->cell * HEADS + h];
            by_weight[r->job * HEADS + h] += r->value * slope;
        }
    }
    for (int h = 0; h < HEADS; h++) {
        nn_real mean = 0, none = 1;

        for (int r = 0; r < c->known; r++) {
            mean += p->weight[r * HEADS + h] * by_weight[r * HEADS + h];
            none -= p->weight[r * HEADS + h];
        }
        for (int r = 0; r < c->known; r++)
            by_logits[r * HEADS + h] =
                p->weight[r * HEADS + h] * (by_weight[r * HEADS + h] - mean);
        by_none[h] -= none * mean;
    }
    free(by_head);
    free(by_var);
    free(by_weight);
}

static void *gathered(struct attention_case *const *cases, size_t count, bool alike,
                      size_t *rows)
{
    size_t width = alike ? ATTENTION_ALIKE : INPUTS, at = 0;
    nn_real *all;

    *rows = 0;
    for (size_t i = 0; i < count; i++)
        *rows += (size_t)(alike ? cases[i]->known : cases[i]->cells);
    all = mem_array(nn_real, *rows * width + 1);
    for (size_t i = 0; alike && i < count; i++) {
        size_t size = (size_t)cases[i]->known * width;

        memcpy(all + at, cases[i]->alike, size * sizeof(nn_real));
        at += size;
    }
    return all;
}

/* Slopes of the loss by each output (rows, 2), and by the mean (rows). */
static double slopes_of_loss(struct attention_case *const *cases, size_t count,
                             const struct passed *passed, const nn_real *gate,
                             const nn_real *y, size_t rows, nn_real *by_y,
                             nn_real *by_mean)
{
    nn_real *mean = mem_array(nn_real, 4 * rows + 1), *width = mean + rows;
    nn_real *target = width + rows, *by_width = target + rows;
    size_t at = 0;
    double loss;

    for (size_t i = 0; i < count; i++)
        for (int q = 0; q < cases[i]->cells; q++, at++) {
            nn_real w = y[2 * at + 1] + (nn_real)WIDTH_SHIFT;

            mean[at] = mean_of(cases[i], &passed[i], gate, q, y + 2 * at);
            width[at] = w < (nn_real)WIDTH_LOW    ? (nn_real)WIDTH_LOW
                        : w > (nn_real)WIDTH_HIGH ? (nn_real)WIDTH_HIGH
                                                  : w;
            target[at] = cases[i]->target[q];
        }
    loss = mlp_laplace(mean, width, target, rows, by_mean, by_width);
    for (at = 0; at < rows; at++) {
        nn_real w = y[2 * at + 1] + (nn_real)WIDTH_SHIFT;

        by_y[2 * at] = (nn_real)MEAN_SCALE * by_mean[at];
        by_y[2 * at + 1] =
            w < (nn_real)WIDTH_LOW || w > (nn_real)WIDTH_HIGH ? 0 : by_width[at];
    }
    free(mean);
    return loss;
}

double attention_gradient(struct attention_trainer *t,
                          struct attention_case *const *cases, size_t count)
{
    struct params *params = t->net->params;
    const nn_real *gate = params_value(params, t->net->gate), *logits, *y;
    struct passed *passed = mem_array(struct passed, count + 1);
    size_t known, rows, at = 0, row = 0;
    nn_real *alike = gathered(cases, count, true, &known);
    nn_real *x = gathered(cases, count, false, &rows);
    nn_real *by_logits = mem_array(nn_real, known * HEADS + 1);
    nn_real *by_x = mem_array(nn_real, rows * INPUTS + 1);
    nn_real *by_y = mem_array(nn_real, 2 * rows + 1);
    nn_real *by_mean = mem_array(nn_real, rows + 1);
    int *lengths = mem_array(int, count + 1);
    double loss;

    for (size_t i = 0; i < count; i++)
        lengths[i] = cases[i]->known;
    logits = set_reader_forward(t->alike, params, alike, lengths, count);
    for (size_t i = 0; i < count; i++) {
        const struct attention_case *c = cases[i];

        passed_init(&passed[i], c);
        weigh(logits + at * HEADS, params_value(params, t->net->none), c->known,
              &passed[i]);
        gather(c, gate, &passed[i]);
        fill_inputs(c, &passed[i], 0, c->cells, x + row * INPUTS);
        at += (size_t)c->known;
        row += (size_t)c->cells;
    }
    y = mlp_forward(t->cell, params, x, (int)rows);
    loss = slopes_of_loss(cases, count, passed, gate, y, rows, by_y, by_mean);
    mlp_backward(t->cell, params, by_y, by_x);
    at = row = 0;
    for (size_t i = 0; i < count; i++) {
        const struct attention_case *c = cases[i];

        back_case(c, &passed[i], gate, by_x + row * INPUTS, by_mean + row,
                  params->grad + params->items[t->net->gate].offset,
                  params->grad + params->items[t->net->none].offset,
                  by_logits + at * HEADS);
        at += (size_t)c->known;
        row += (size_t)c->cells;
        passed_fini(&passed[i]);
    }
    set_reader_backward(t->alike, params, by_logits);
    free(passed);
    free(alike);
    free(x);
    free(by_logits);
    free(by_x);
    free(by_y);
    free(by_mean);
    free(lengths);
    return loss;
}

double attention_train_step(struct attention_trainer *t,
                            struct attention_case *const *cases, size_t count)
{
    double loss = attention_gradient(t, cases, count);

    adam_step(t->adam, t->net->params, loss);
    return loss;
}
