/* params.c - named matrices in one flat array: mlp.c adds them, adam.c moves them,
 * them, weights.c keeps them */
#include "nn/params.h"

#include "base/mem.h"
#include "base/str.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct params *params_create(void)
{
    return mem_new(struct params);
}

void params_destroy(struct params *params)
{
    if (!params)
        return;
    free(params->items);
    free(params->value);
    free(params->grad);
    free(params);
}

struct params *params_dup(const struct params *params)
{
    struct params *copy = params_create();

    copy->items =
        mem_dup(params->items, (size_t)params->item_count, sizeof(*params->items));
    copy->item_count = params->item_count;
    copy->value = mem_dup(params->value, params->count, sizeof(*params->value));
    copy->grad = mem_array(nn_real, params->count);
    copy->count = params->count;
    return copy;
}

int params_add(struct params *params, const char *name, int rows, int cols)
{
    size_t old = params->count;
    size_t item_count = (size_t)params->item_count;
    size_t count = old + (size_t)rows * (size_t)cols;
    struct param *item;

    assert(rows > 0 && cols > 0 && params_find(params, name) < 0);
    params->items =
        mem_resize(params->items, item_count, item_count + 1, sizeof(*params->items));
    params->value = mem_resize(params->value, old, count, sizeof(*params->value));
    params->grad = mem_resize(params->grad, old, count, sizeof(*params->grad));
    params->count = count;
    item = &params->items[params->item_count];
    item->rows = rows;
    item->cols = cols;
    item->offset = old;
    if (!str_copy(item->name, sizeof(item->name), name))
        assert(!"the name of a parameter is too long");
    return params->item_count++;
}

int params_find(const struct params *params, const char *name)
{
    for (int i = 0; i < params->item_count; i++)
        if (!strcmp(params->items[i].name, name))
            return i;
    return -1;
}

nn_real *params_value(struct params *params, int id)
{
    assert(id >= 0 && id < params->item_count);
    return params->value + params->items[id].offset;
}

void params_zero_grad(struct params *params)
{
    memset(params->grad, 0, params->count * sizeof(*params->grad));
}

static void fill_normal(struct params *params, int id, double sd, struct rng *rng)
{
    const struct param *item = &params->items[id];
    nn_real *value = params_value(params, id);

    for (size_t i = 0; i < (size_t)item->rows * (size_t)item->cols; i++)
        value[i] = (nn_real)(sd * rng_normal(rng));
}

void params_fill_he(struct params *params, int id, struct rng *rng)
{
    fill_normal(params, id, sqrt(2.0 / params->items[id].rows), rng);
}

void params_fill_xavier(struct params *params, int id, struct rng *rng)
{
    const struct param *item = &params->items[id];

    fill_normal(params, id, sqrt(2.0 / (item->rows + item->cols)), rng);
}
