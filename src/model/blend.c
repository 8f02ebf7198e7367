/* blend.c - one belief from several: pairs.c mixes with it, lessons choose widths */
#include "model/blend.h"

#include "base/mem.h"
#include "base/normal.h"

#include <math.h>
#include <stdlib.h>

const int blend_counts[BLEND_COUNTS] = {0, 1, 3, 10};

/* Of a new family, by kind and number of measurements: core, rows, network, column,
 * nearest.  Between these counts they follow the log. */
static const double stranger[PAIR_KINDS][BLEND_COUNTS][BLEND_EXPERTS] = {
    [PAIR_OWN] = {{0.2, 0.2, 0.4, 0.1, 0.1},
                  {0.35, 0.15, 0.45, 0.05, 0},
                  {0.5, 0.15, 0.35, 0, 0},
                  {0.65, 0.15, 0.2, 0, 0}},
    [PAIR_EFFECT] = {{0.2, 0.1, 0.7, 0, 0},
                     {0.35, 0.1, 0.55, 0, 0},
                     {0.55, 0.1, 0.35, 0, 0},
                     {0.7, 0.1, 0.2, 0, 0}},
};

/* Where a job of the family is known: core and network. */
static const double sibling[BLEND_COUNTS][BLEND_EXPERTS] = {
    {0.65, 0, 0.35, 0, 0}, {0.7, 0, 0.3, 0, 0}, {0.8, 0, 0.2, 0, 0}, {0.9, 0, 0.1, 0, 0}};

/* A job's own speeds stray further downwards than upwards, all of them together when its
 * rate alone was measured too high; what it does to others does not. */
static const struct blend_shift usual_shift[PAIR_KINDS] = {
    [PAIR_OWN] = {0.45, 0.6}, [PAIR_EFFECT] = {0.3, 0.3}};

/* Of a new family's job that runs this much further below others than rows usually stray,
 * all experts say too much: the share grows with it, up to a most. */
#define BELOW_ODD  4.0
#define BELOW_MOST 1.5

/* The place of a count among blend_counts, and how far it is on the way to the next. */
static int place_of(int measured, double *rest)
{
    int at = 0;

    while (at + 2 < BLEND_COUNTS && measured >= blend_counts[at + 1])
        at++;
    *rest = (log1p(measured) - log1p(blend_counts[at])) /
            (log1p(blend_counts[at + 1]) - log1p(blend_counts[at]));
    *rest = fmin(fmax(*rest, 0), 1);
    return at;
}

struct blend_weights blend_weights_at(const struct blend_place *at, unsigned without)
{
    struct blend_weights w;
    double rest, sum = 0;
    int n = place_of(at->measured, &rest);

    for (int e = 0; e < BLEND_EXPERTS; e++) {
        const double *now = at->sibling ? sibling[n] : stranger[at->kind][n];
        const double *next = at->sibling ? sibling[n + 1] : stranger[at->kind][n + 1];

        w.of[e] = (1 - rest) * now[e] + rest * next[e];
        if (without & 1u << e)
            w.of[e] = 0;
        sum += w.of[e];
    }
    for (int e = 0; e < BLEND_EXPERTS; e++)
        w.of[e] = sum > 0 ? w.of[e] / sum : without & 1u << e ? 0 : 1;
    return w;
}

struct blend_shift blend_shift_at(const struct blend_place *at)
{
    struct blend_shift shift = usual_shift[at->kind];

    if (at->kind == PAIR_OWN && !at->sibling && at->below > BELOW_ODD)
        shift.share = fmin(shift.share * at->below / BELOW_ODD, BELOW_MOST);
    return shift;
}

struct blend_belief blend_mix(const struct blend_said *said,
                              const struct blend_weights *w, struct blend_shift shift)
{
    double mean = 0, var = 0;

    for (int e = 0; e < BLEND_EXPERTS; e++)
        if (w->of[e] > 0)
            mean += w->of[e] * said->by[e].mean;
    for (int e = 0; e < BLEND_EXPERTS; e++) {
        double away = said->by[e].mean - mean;

        if (w->of[e] > 0)
            var += w->of[e] * (said->by[e].sd * said->by[e].sd + away * away);
    }
    mean -= shift.share * fmin(var, shift.var_max);
    return (struct blend_belief){mean, sqrt(var)};
}

/* ---- widths ------------------------------------------------------------------------ */

/* The share of misses a width has to hold: a little more than 90 % where parameters
 * answer that were fitted to what they are judged on.  A new family of which nothing was
 * measured errs as one: the fewer families there were, the less they say of the next. */
#define SHARE_ASKED    0.90
#define SHARE_FITTED   0.91
#define SHARE_FAMILIES 0.25
#define WIDTH_LEAST    0.8
#define WIDTH_MOST     4.0

/* Fewer families say little of the next one: this width counts as so many of them. */
#define FEW_FAMILIES   6
#define PRIOR_WIDTH    1.8
#define PRIOR_FAMILIES 2.0

struct blend_widths blend_widths_default(void)
{
    struct blend_widths w;

    for (int kind = 0; kind < PAIR_KINDS; kind++)
        for (int n = 0; n < BLEND_COUNTS; n++)
            w.half[kind][n][0] = w.half[kind][n][1] = NORMAL_90_SHORT;
    return w;
}

double blend_width_at(const struct blend_widths *w, const struct blend_place *at)
{
    double rest;
    int n = place_of(at->measured, &rest);

    return (1 - rest) * w->half[at->kind][n][at->sibling] +
           rest * w->half[at->kind][n + 1][at->sibling];
}

void blend_widths_code(struct blend_widths *w, struct codec *c)
{
    for (int kind = 0; kind < PAIR_KINDS; kind++)
        for (int n = 0; n < BLEND_COUNTS; n++)
            for (int s = 0; s < 2; s++)
                codec_at_least(c, &w->half[kind][n][s], 0);
}

static int by_error(const void *a, const void *b)
{
    const struct blend_miss *x = a, *y = b;

    return (x->error > y->error) - (x->error < y->error);
}

/* How many misses each family has, in the order of `misses`; returns the families. */
static int family_sizes(const struct blend_miss *misses, size_t count, double *sizes)
{
    int families = 0, most = 0;
    double *of;

    for (size_t i = 0; i < count; i++)
        most = misses[i].family > most ? misses[i].family : most;
    of = mem_array(double, (size_t)most + 1);
    for (size_t i = 0; i < count; i++)
        families += of[misses[i].family]++ == 0;
    for (size_t i = 0; i < count; i++)
        sizes[i] = of[misses[i].family];
    free(of);
    return families;
}

static double share_asked(const struct blend_place *at, int families)
{
    if (at->sibling || at->measured > 1)
        return SHARE_FITTED;
    return SHARE_ASKED + (at->measured == 0 ? SHARE_FAMILIES / families : 0);
}

double blend_width_choose(struct blend_miss *misses, size_t count,
                          const struct blend_place *at)
{
    double *sizes = mem_array(double, count + 1), all = 0, below = 0, width = PRIOR_WIDTH;
    double share;
    int families;

    qsort(misses, count, sizeof(*misses), by_error);
    families = family_sizes(misses, count, sizes);
    share = share_asked(at, families > 0 ? families : 1);
    for (size_t i = 0; i < count; i++) /* a large family does not outvote the others */
        all += 1 / sqrt(sizes[i]);
    for (size_t i = 0; i < count && below < share * all; i++) {
        width = misses[i].error;
        below += 1 / sqrt(sizes[i]);
    }
    free(sizes);
    if (families < FEW_FAMILIES)
        width = (families * width + PRIOR_FAMILIES * PRIOR_WIDTH) /
                (families + PRIOR_FAMILIES);
    return fmin(fmax(width, WIDTH_LEAST), WIDTH_MOST);
}
