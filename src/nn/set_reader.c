/* set_reader.c - the architectures under one interface, and the dense layers they share:
 * attention.c reads known jobs with it */
#include "nn/set_reader.h"

#include "base/mem.h"
#include "nn/gemm.h"
#include "nn/set_reader_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FF_WIDTH 24

const char *const set_reader_names[SET_READER_KINDS] = {"ff", "gru", "transformer"};

int set_reader_find(const char *name)
{
    for (int kind = 0; kind < SET_READER_KINDS; kind++)
        if (!strcmp(set_reader_names[kind], name))
            return kind;
    return -1;
}

void set_reader_init(struct set_reader *r, struct params *params, const char *name,
                     enum set_reader_kind kind, int inputs, int scores, struct rng *rng)
{
    static const struct set_reader_ops *const all[SET_READER_KINDS] = {
        [SET_READER_GRU] = &set_reader_gru,
        [SET_READER_TRANSFORMER] = &set_reader_transformer};

    *r = (struct set_reader){
        .kind = kind, .inputs = inputs, .scores = scores, .ops = all[kind]};
    if (r->ops)
        r->ops->init(r, params, name, rng);
    else
        mlp_init(&r->mlp, params, name, (const int[]){inputs, FF_WIDTH, FF_WIDTH, scores},
                 4, rng);
}

/* ---- dense layers ------------------------------------------------------------------ */

void set_reader_layer(struct mlp_layer *layer, struct params *params, const char *name,
                      const char *part, int inputs, int outputs, struct rng *rng)
{
    char full[PARAMS_NAME_SIZE];

    snprintf(full, sizeof(full), "%s.%s", name, part);
    mlp_layer_init(layer, params, full, inputs, outputs);
    params_fill_xavier(params, layer->weight, rng);
}

void set_reader_dense(const struct mlp_layer *l, const struct params *params,
                      const nn_real *x, int rows, nn_real *y)
{
    const nn_real *bias = params->value + params->items[l->bias].offset;

    for (int i = 0; i < rows; i++)
        memcpy(y + (size_t)i * (size_t)l->outputs, bias,
               (size_t)l->outputs * sizeof(*bias));
    gemm(GEMM_NN, rows, l->outputs, l->inputs, 1, x,
         params->value + params->items[l->weight].offset, 1, y);
}

void set_reader_dense_back(const struct mlp_layer *l, struct params *params,
                           const nn_real *x, int rows, const nn_real *by_y, nn_real *by_x)
{
    nn_real *by_bias = params->grad + params->items[l->bias].offset;

    for (int i = 0; i < rows; i++)
        for (int o = 0; o < l->outputs; o++)
            by_bias[o] += by_y[i * l->outputs + o];
    gemm(GEMM_TN, l->inputs, l->outputs, rows, 1, x, by_y, 1,
         params->grad + params->items[l->weight].offset);
    if (by_x)
        gemm(GEMM_NT, rows, l->inputs, l->outputs, 1, by_y,
             params->value + params->items[l->weight].offset, 1, by_x);
}

/* ---- sets of rows ------------------------------------------------------------------ */

struct set_reader_batch {
    struct set_reader reader;
    struct mlp_batch *mlp; /* ff */
    const nn_real *x;
    int *lengths;
    size_t sets;
    nn_real *scores, *kept;
};

struct set_reader_batch *set_reader_batch_create(const struct set_reader *r)
{
    struct set_reader_batch *b = mem_new(struct set_reader_batch);

    gemm_setup();
    b->reader = *r;
    if (!r->ops)
        b->mlp = mlp_batch_create(&r->mlp);
    return b;
}

static void forget(struct set_reader_batch *b)
{
    free(b->lengths);
    free(b->scores);
    free(b->kept);
    b->lengths = NULL;
    b->scores = b->kept = NULL;
}

void set_reader_batch_destroy(struct set_reader_batch *b)
{
    if (!b)
        return;
    forget(b);
    mlp_batch_destroy(b->mlp);
    free(b);
}

const nn_real *set_reader_forward(struct set_reader_batch *b, const struct params *params,
                                  const nn_real *x, const int *lengths, size_t sets)
{
    const struct set_reader *r = &b->reader;
    size_t rows = 0, room = 0, at = 0, kept = 0;

    for (size_t i = 0; i < sets; i++) {
        rows += (size_t)lengths[i];
        room += r->ops ? r->ops->room(r, lengths[i]) : 0;
    }
    if (b->mlp)
        return mlp_forward(b->mlp, params, x, (int)rows);
    forget(b);
    b->x = x;
    b->sets = sets;
    b->lengths = mem_dup(lengths, sets, sizeof(*lengths));
    b->scores = mem_array(nn_real, rows * (size_t)r->scores + 1);
    b->kept = mem_array(nn_real, room + 1);
    for (size_t i = 0; i < sets; i++) {
        if (lengths[i] == 0)
            continue;
        r->ops->forward(r, params, x + at * (size_t)r->inputs, lengths[i], b->kept + kept,
                        b->scores + at * (size_t)r->scores);
        at += (size_t)lengths[i];
        kept += r->ops->room(r, lengths[i]);
    }
    return b->scores;
}

void set_reader_backward(struct set_reader_batch *b, struct params *params,
                         const nn_real *by_scores)
{
    const struct set_reader *r = &b->reader;
    size_t at = 0, kept = 0;

    if (b->mlp) {
        mlp_backward(b->mlp, params, by_scores, NULL);
        return;
    }
    for (size_t i = 0; i < b->sets; i++) {
        if (b->lengths[i] == 0)
            continue;
        r->ops->backward(r, params, b->x + at * (size_t)r->inputs, b->lengths[i],
                         b->kept + kept, by_scores + at * (size_t)r->scores);
        at += (size_t)b->lengths[i];
        kept += r->ops->room(r, b->lengths[i]);
    }
}
