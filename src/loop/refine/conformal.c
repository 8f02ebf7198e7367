/* conformal.c - see conformal.h */
#include "loop/refine/conformal.h"

#include "base/mem.h"
#include "base/normal.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

/* The default width counts as so many observations. */
#define PRIOR_WEIGHT 20.0

static int by_value(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

double conformal_width(double *errors, size_t count, double share)
{
    double weight = (double)count / ((double)count + PRIOR_WEIGHT);
    size_t at;

    if (count == 0)
        return NORMAL_90_SHORT;
    qsort(errors, count, sizeof(*errors), by_value);
    at = (size_t)ceil(share * (double)(count + 1)) - 1;
    if (at >= count)
        at = count - 1;
    return weight * errors[at] + (1 - weight) * NORMAL_90_SHORT;
}

/* ---- widths for a group never seen ------------------------------------------------- */

#define SHARES     8
#define SHARE_STEP 0.01

static double quantile_of(const double *sorted, size_t count, double share)
{
    double at = share * (double)(count - 1), rest;
    size_t i = (size_t)at;

    rest = at - (double)i;
    return i + 1 < count ? sorted[i] * (1 - rest) + sorted[i + 1] * rest : sorted[i];
}

struct grouped {
    double error;
    int group;
};

static int by_error(const void *a, const void *b)
{
    const struct grouped *x = a, *y = b;

    return (x->error > y->error) - (x->error < y->error);
}

/* How much of one group lies within quantiles of all others; false when it or they are
 * empty.  room (count) is scratch. */
static bool add_covered(const struct grouped *sorted, size_t count, int group,
                        double share, double covered[SHARES], double *room)
{
    size_t others = 0, own = 0, inside[SHARES] = {0};
    double width[SHARES];

    for (size_t i = 0; i < count; i++)
        if (sorted[i].group != group)
            room[others++] = sorted[i].error;
    own = count - others;
    if (own == 0 || others == 0)
        return false;
    for (int s = 0; s < SHARES; s++)
        width[s] = quantile_of(room, others, fmin(share + s * SHARE_STEP, 1));
    for (size_t i = 0; i < count; i++)
        for (int s = 0; s < SHARES && sorted[i].group == group; s++)
            inside[s] += sorted[i].error <= width[s];
    for (int s = 0; s < SHARES; s++)
        covered[s] += (double)inside[s] / (double)own;
    return true;
}

double conformal_fair_width(const double *errors, const int *group, size_t count,
                            int groups, double share)
{
    struct grouped *sorted = mem_array(struct grouped, count + 1);
    double *room = mem_array(double, count + 1), covered[SHARES] = {0}, result;
    int used = 0, s = 0;

    for (size_t i = 0; i < count; i++)
        sorted[i] = (struct grouped){errors[i], group[i]};
    qsort(sorted, count, sizeof(*sorted), by_error);
    for (int g = 0; g < groups; g++)
        used += add_covered(sorted, count, g, share, covered, room);
    while (used > 0 && s + 1 < SHARES && covered[s] < share * used)
        s++;
    for (size_t i = 0; i < count; i++)
        room[i] = sorted[i].error;
    result = quantile_of(room, count, fmin(share + s * SHARE_STEP, 1));
    free(sorted);
    free(room);
    return result;
}
