/* rates.h - how fast jobs run alone on each GPU type
 *
 * Knows the rates measured so far.  A job measured on some types is carried over to the
 * others half by what jobs like it did between the two types (its family's ratio, else
 * the median ratio) and half by the correlation core; a network (ratios.h) corrects
 * that, with a weight that evidence moves.  A job never measured gets the level of its
 * family over batch sizes, else the typical share of peak speed, with an interval to
 * match. */
#pragma once

#include "model/gp.h"
#include "model/ratios.h"
#include "model/stat_network.h"

#include <stdbool.h>
#include <stddef.h>

/* What an estimate rests on, from most to least; intervals are calibrated for each. */
enum rates_basis {
    RATES_MEASURED, /* this very cell */
    RATES_SEVERAL,  /* two or more other types */
    RATES_ONE,      /* one other type */
    RATES_FAMILY,   /* only its family */
    RATES_NOTHING,
    RATES_BASIS_COUNT
};

struct rates_belief {
    double mean, sd;
};

struct rates_guess {
    double mean;    /* ln steps/s */
    double sd;      /* of a new measurement, before calibration */
    bool corrected; /* the network had a say: carried over, and the draw was measured */
    struct rates_belief plain, net; /* what the parts say; else both are the guess */
    enum rates_basis basis;
    int observations; /* of this job, or of its family */
};

/* How much the network is worth here: whenever a rate that had been carried over is
 * measured, each weight is charged with the error it would have made.  The one with the
 * least is taken, held back towards the shipped one. */
enum { RATES_STEPS = 11 }; /* weights 0, 0.1 .. 1 */

struct rates_evidence {
    double error[RATES_STEPS]; /* sums of relative errors */
    double count;
    double groups; /* what belongs together errs together: so many told of it */
};

/* What was said of a cell before it was measured; fresh: the first of its group (a job,
 * or a family where whole families are held out). */
void rates_evidence_add(struct rates_evidence *evidence, const struct rates_guess *said,
                        double truth, bool fresh);
double rates_evidence_weight(const struct rates_evidence *evidence);

struct rates {
    struct gp *core;
    int jobs, gpus, capacity;
    double *seen;                /* (capacity, WORLD_MAX_GPUS) ln rates, NaN: never */
    struct ratios_owner *owners; /* (capacity) */
    const struct trust *trust;   /* borrowed; NULL: there is one user */
    double *busy;                /* the same: share of the device in use, NaN */
    size_t *index;               /* the same: observation in the core */
    bool closed;   /* carry rates over by closed forms alone, for comparisons */
    double weight; /* of the network where rates are carried over, 0..1 */
    struct rates_evidence evidence;
    struct statnet *net;
};

struct rates *rates_create(const struct kernel_params *params);
void rates_destroy(struct rates *rates); /* NULL is fine */

/* Of one user for all; rates_add_job_of(): of this one, with a family by its name. */
int rates_add_job(struct rates *rates, const struct job_trait *job);
int rates_add_job_of(struct rates *rates, const struct job_trait *job, int user,
                     int family);
int rates_add_gpu(struct rates *rates, const struct gpu_trait *gpu);

/* A measurement of one cell; a later one replaces it. */
void rates_observe(struct rates *rates, int job, int gpu, double log_rate);

static inline double rates_seen(const struct rates *rates, int job, int gpu)
{
    return rates->seen[(size_t)job * WORLD_MAX_GPUS + (size_t)gpu];
}

/* A cell that was carried over until now is about to be observed: who came nearer? */
void rates_learn_weight(struct rates *rates, int job, int gpu, double log_rate);

/* How busy the job kept the device, 0..1, when it ran alone; NaN: nobody knows. */
void rates_observe_busy(struct rates *rates, int job, int gpu, double busy);

/* A guess again with another weight. */
void rates_mix(struct rates_guess *guess, double weight);

/* What the network sees of a cell never measured, for training; false where it is not
 * asked: the job was not measured elsewhere with its draw. */
bool rates_transfer_row(const struct rates *rates, int job, int gpu,
                        struct statnet_row *row);

void rates_set_params(struct rates *rates, const struct kernel_params *params);

/* For checkpoints; reading needs the GPU types added and no job yet. */
void rates_code(struct rates *rates, struct codec *c);

struct rates_guess rates_predict(const struct rates *rates, int job, int gpu);
/* The same of a job that was never added: what it would be then. */
struct rates_guest {
    const struct job_trait *trait;
    int user, family; /* by name */
};
struct rates_guess rates_predict_guest(const struct rates *rates,
                                       const struct rates_guest *guest, int gpu);
