/* by_user.c - medians over users: tally.c, ratios.c and user_stats.c ask */
#include "model/by_user.h"

#include "base/mem.h"
#include "model/dense.h"

#include <math.h>
#include <stdlib.h>

static int by_value(const void *a, const void *b)
{
    return dense_by_value(&((const struct by_user *)a)->value,
                          &((const struct by_user *)b)->value);
}

double by_user_cap(const struct by_user *users, size_t count)
{
    double *weights, cap;

    if (count <= 2)
        return INFINITY;
    weights = mem_array(double, count);
    for (size_t i = 0; i < count; i++)
        weights[i] = users[i].weight;
    qsort(weights, count, sizeof(*weights), dense_by_value);
    cap = weights[count / 2];
    free(weights);
    return cap;
}

double by_user_weight(const struct by_user *users, size_t count)
{
    double cap = by_user_cap(users, count), all = 0;

    for (size_t i = 0; i < count; i++)
        all += fmin(users[i].weight, cap);
    return all;
}

double by_user_weighted_median(struct by_user *items, size_t count)
{
    double all = 0, sum = 0;
    size_t i = 0;

    qsort(items, count, sizeof(*items), by_value);
    for (size_t k = 0; k < count; k++)
        all += items[k].weight;
    while (i + 1 < count && sum + items[i].weight < all / 2)
        sum += items[i++].weight;
    /* Exactly half on either side: the middle of the two. */
    if (i + 1 < count && sum + items[i].weight <= all / 2 * (1 + 1e-12))
        return (items[i].value + items[i + 1].value) / 2;
    return items[i].value;
}

double by_user_median(struct by_user *users, size_t count)
{
    double cap = by_user_cap(users, count);

    for (size_t i = 0; i < count; i++)
        users[i].weight = fmin(users[i].weight, cap);
    return by_user_weighted_median(users, count);
}
