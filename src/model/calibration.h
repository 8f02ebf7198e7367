/* calibration.h - intervals whose stated share is the share that comes true
 *
 * What is believed of a place where a job was never measured is a mean and a variance.
 * Both are a model's: places are chosen because much is expected of them, and variances
 * add up what is not quite independent.  Every first window tells where it lay in the
 * belief, in standard deviations from the mean; the quantiles of that, kept for each
 * basis of a belief, are where its median and the ends of its 90 % interval are put.
 *
 * A quantile moves by the share of windows on either side of it, not by how far off they
 * are: one wild window moves it no more than any other. */
#pragma once

#include "model/codec.h"

/* What a belief rests on: is the job new or was it measured elsewhere, alone or beside
 * others, training or a service. */
#define CALIBRATION_BASES 8

static inline int calibration_basis(bool elsewhere, bool beside, bool service)
{
    return 4 * elsewhere + 2 * beside + service;
}

/* Standard deviations from the mean. */
struct calibration_ends {
    double low, median, high; /* of which 5, 50 and 95 % of windows are below */
};

struct calibration {
    struct {
        struct calibration_ends at;
        double weight; /* windows behind it, fading, and what the start counts as */
    } bases[CALIBRATION_BASES];
};

void calibration_init(struct calibration *calibration);

/* A first window lay so many standard deviations above the mean.  share: it counts as
 * this part of a window, 0..1. */
void calibration_note(struct calibration *calibration, int basis, double deviation,
                      double share);

/* In order: low < median < high. */
struct calibration_ends calibration_ends(const struct calibration *calibration,
                                         int basis);

void calibration_code(struct calibration *calibration, struct codec *c);
