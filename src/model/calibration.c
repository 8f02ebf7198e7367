/* calibration.c - learned_absorb.c notes where first windows lay, learned_predict.c puts
 * the ends of its intervals there */
#include "model/calibration.h"

#include <math.h>

/* The start counts as so many windows, and about so many count in the end: conditions
 * change. */
#define START_WEIGHT 60.0
#define MEMORY       500.0

/* A window's step, in units of the distance in which a normal distribution has all of its
 * mass at the density it has there: then the step is as sure as the windows are many. */
#define STEP_MEDIAN 2.51
#define STEP_END    9.70

/* What no window moves an end beyond, and how near to the median an end may come. */
#define FURTHEST 6.0
#define NEAREST  0.3

/* As found on simulations of seeds that are not reported (docs/decisions/calibration.md),
 * in the order of calibration_basis(). */
static const struct calibration_ends starts[CALIBRATION_BASES] = {
    {-1.63, 0.05, 1.71}, {-1.10, 0, 1.00}, {-1.40, 0.05, 1.55}, {-1.00, 0.05, 1.10},
    {-1.45, 0, 1.45},    {-0.80, 0, 0.75}, {-1.20, 0.05, 1.30}, {-0.80, 0.05, 0.90},
};

void calibration_init(struct calibration *k)
{
    for (int i = 0; i < CALIBRATION_BASES; i++) {
        k->bases[i].at = starts[i];
        k->bases[i].weight = START_WEIGHT;
    }
}

/* Up by its share for each window above, down by the rest for each below. */
static void follow(double *quantile, double share, double deviation, double step)
{
    *quantile += step * (share - (deviation < *quantile));
    *quantile = fmax(-FURTHEST, fmin(*quantile, FURTHEST));
}

void calibration_note(struct calibration *k, int basis, double deviation, double share)
{
    struct calibration_ends *at = &k->bases[basis].at;
    double *weight = &k->bases[basis].weight;

    if (!isfinite(deviation))
        return;
    *weight = fmin(*weight + share, MEMORY);
    follow(&at->low, 0.05, deviation, share * STEP_END / *weight);
    follow(&at->median, 0.5, deviation, share * STEP_MEDIAN / *weight);
    follow(&at->high, 0.95, deviation, share * STEP_END / *weight);
}

struct calibration_ends calibration_ends(const struct calibration *k, int basis)
{
    struct calibration_ends at = k->bases[basis].at;

    at.low = fmin(at.low, at.median - NEAREST);
    at.high = fmax(at.high, at.median + NEAREST);
    return at;
}

void calibration_code(struct calibration *k, struct codec *c)
{
    for (int i = 0; i < CALIBRATION_BASES; i++) {
        codec_real(c, &k->bases[i].at.low);
        codec_real(c, &k->bases[i].at.median);
        codec_real(c, &k->bases[i].at.high);
        codec_at_least(c, &k->bases[i].weight, START_WEIGHT);
    }
}
