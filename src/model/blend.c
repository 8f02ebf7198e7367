/* blend.c - one belief from several: pairs.c mixes with it, lessons choose weights and
 * widths */
#include "model/blend.h"

#include "base/normal.h"
#include "model/dense.h"

#include <math.h>
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

/* ---- widths ----------------------------------------------------------------------- */

/* The default width counts as so many observations. */
#define PRIOR_WEIGHT 20.0

double conformal_width(double *errors, size_t count, double share)
{
    double weight = (double)count / ((double)count + PRIOR_WEIGHT);
    size_t at;

    if (count == 0)
        return NORMAL_90_SHORT;
    qsort(errors, count, sizeof(*errors), dense_by_value);
    at = (size_t)ceil(share * (double)(count + 1)) - 1;
    if (at >= count)
        at = count - 1;
    return weight * errors[at] + (1 - weight) * NORMAL_90_SHORT;
}
