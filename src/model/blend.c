/* blend.c - see blend.h */
#include "model/blend.h"

#include "base/mem.h"
#include "base/normal.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#define NET_DEFAULT   0.15
#define TREES_DEFAULT 0.15
#define STEPS         10 /* weights are tried in tenths */

/* What it costs, in relative error, to move all of the weight away from the default.  On
 * synthetic worlds with families held out this does a little better than a fifth of it.
 */
#define WEIGHT_COST 0.02

/* Fewer cases choose by chance. */
#define CASES_MIN 40

struct blend_weights blend_weights_default(void)
{
    return (struct blend_weights){NET_DEFAULT, TREES_DEFAULT};
}

struct blend_belief blend_mix(const struct blend_said *s, const struct blend_weights *w)
{
    double core = 1 - w->net - w->trees;

    return (struct blend_belief){core * s->core.mean + w->net * s->net.mean +
                                     w->trees * s->trees,
                                 core * s->core.sd + (w->net + w->trees) * s->net.sd};
}

static double loss_of(const struct blend_case *cases, size_t count,
                      const struct blend_weights *w)
{
    double loss = 0, moved = fabs(w->net - NET_DEFAULT) + fabs(w->trees - TREES_DEFAULT);

    for (size_t i = 0; i < count; i++)
        loss += fabs(expm1(blend_mix(&cases[i].said, w).mean - cases[i].truth));
    return loss / (double)count + WEIGHT_COST * moved;
}

struct blend_weights blend_weights_choose(const struct blend_case *cases, size_t count)
{
    struct blend_weights best = blend_weights_default();
    double least = INFINITY;

    if (count < CASES_MIN)
        return best;
    for (int net = 0; net <= STEPS; net++)
        for (int trees = 0; net + trees <= STEPS; trees++) {
            struct blend_weights w = {(double)net / STEPS, (double)trees / STEPS};
            double loss = loss_of(cases, count, &w);

            if (loss < least) {
                least = loss;
                best = w;
            }
        }
    return best;
}

void blend_errors(const struct blend_case *cases, size_t count,
                  const struct blend_weights *w, double *out)
{
    for (size_t i = 0; i < count; i++) {
        struct blend_belief b = blend_mix(&cases[i].said, w);

        out[i] = fabs(cases[i].truth - b.mean) / b.sd;
    }
}

/* ---- widths ---------------------------------------------------------------------------
 */

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
