/* carry.h - a rate on a type where the job never ran, from those where it did
 *
 * What a network trained on the synthetic world sees of that: how much of their peak the
 * job reached on the types it ran on, how busy it kept them (a job that waits for its
 * host gains little from a faster card), how other jobs fared between the two types, and
 * what closed forms and the core say.  It answers with a correction to those. */
#ifndef CORGI_LOOP_ESTIMATE_CARRY_H
#define CORGI_LOOP_ESTIMATE_CARRY_H

#include "loop/core/statnet.h"
#include "loop/estimate/ratios.h"

/* The network's share of a rate carried over while nothing speaks for another: the best
 * on synthetic worlds with families held out. */
#define CARRY_WEIGHT 0.5

struct carry_base { /* what is said without the network, ln steps/s */
    double closed;
    double core, core_sd;
    double mean; /* of both, and of the family's level */
};

/* Features of a cell never measured; busy (jobs, WORLD_MAX_GPUS): share of the device in
 * use, NaN where nobody knows.  False when it is not known of the nearest type: guessing
 * it from what users tell of a job works in synthetic worlds, less so in real ones. */
bool carry_features(const struct ratios_view *view, const double *busy, int job, int gpu,
                    const struct carry_base *base, struct statnet_row *row);

#endif
