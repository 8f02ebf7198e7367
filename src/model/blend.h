/* blend.h - one belief from what core, network and trees say of a cell
 *
 * The loop's model (pairs.h) and `corgi eval` mix with this code, so that what is
 * measured is what ships.  The weights and the width of intervals come from cases: cells
 * whose value is known, and what parts that had not seen it said of them. */
#pragma once

#include <stddef.h>

struct blend_belief {
    double mean, sd;
};

struct blend_said {
    struct blend_belief core, net;
    double trees; /* without trees: what the network says */
};

struct blend_weights { /* the core has the rest */
    double net, trees;
};

struct blend_case {
    struct blend_said said;
    double truth;
    int group; /* what is held out together */
};

/* Of the relative error, which punishes a guess above the truth more: the share of the
 * variance by which the best point lies below the mean of the log. */
#define BLEND_POINT_SHIFT 0.4

/* While nothing speaks for others. */
struct blend_weights blend_weights_default(void);

/* Those with the least relative error on the cases, held back towards the default. */
struct blend_weights blend_weights_choose(const struct blend_case *cases, size_t count);

struct blend_belief blend_mix(const struct blend_said *said,
                              const struct blend_weights *weights);

/* |truth - mean| in units of sd, of each case: out (count). */
void blend_errors(const struct blend_case *cases, size_t count,
                  const struct blend_weights *weights, double *out);

/* ------------------------------------------------------------------------------------ */

/* Intervals whose stated 90 % is 90 %
 *
 * A model's own variance is only as good as the model.  What it says of observations
 * when they are left out, against what they were, gives the factor to put on it. */

/* The share-quantile of the given errors, with NORMAL_90_SHORT blended in that
 * counts as some errors: few observations move it little.  Sorts the errors. */
double conformal_width(double *errors, size_t count, double share);
