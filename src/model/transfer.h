/* transfer.h - a rate on a type where the job never ran, from those where it did
 *
 * What a network trained on the synthetic world sees of that: how much of their peak the
 * job reached on the types it ran on, how busy it kept them (a job that waits for its
 * host gains little from a faster card), how other jobs fared between the two types, and
 * what closed forms and the core say.  It answers with a correction to those. */
#ifndef CORGI_MODEL_TRANSFER_H
#define CORGI_MODEL_TRANSFER_H

#include "model/rates.h"
#include "model/ratios.h"
#include "model/stat_network.h"

/* The network's share of a rate carried over while nothing speaks for another: the best
 * on synthetic worlds with families held out. */
#define TRANSFER_WEIGHT 0.5

struct transfer_base { /* what is said without the network, ln steps/s */
    double closed;
    double core, core_sd;
    double mean; /* of both, and of the family's level */
};

/* Features of a cell never measured; busy (jobs, WORLD_MAX_GPUS): share of the device in
 * use, NaN where nobody knows.  False when it is not known of the nearest type: guessing
 * it from what users tell of a job works in synthetic worlds, less so in real ones. */
bool transfer_features(const struct ratios_view *view, const double *busy, int job,
                       int gpu, const struct transfer_base *base,
                       struct statnet_row *row);

/* ------------------------------------------------------------------------------------ */

/* How much the network of rates alone is worth here
 *
 * Whenever a rate that had been carried over is measured, each weight is charged with the
 * error it would have made.  The one with the least is taken, held back towards the
 * shipped one. */

enum { TRANSFER_STEPS = 11 }; /* weights 0, 0.1 .. 1 */

struct transfer_evidence {
    double error[TRANSFER_STEPS]; /* sums of relative errors */
    double count;
    double groups; /* what belongs together errs together: so many told of it */
};

/* What was said of a cell before it was measured; fresh: the first of its group (a job,
 * or a family where whole families are held out). */
void transfer_evidence_add(struct transfer_evidence *evidence,
                           const struct rates_guess *said, double truth, bool fresh);

double transfer_evidence_weight(const struct transfer_evidence *evidence);

#endif
