/* rates.h - how fast jobs run alone on each GPU type
 *
 * Knows the rates measured so far.  A job measured on some types is carried over to the
 * others half by what jobs like it did between the two types (its family's ratio, else
 * the median ratio) and half by the correlation core; a network (transfer.h) corrects
 * that, with a weight that evidence moves.  A job never measured gets the level of its
 * family over batch sizes, else the typical share of peak speed, with an interval to
 * match. */
#ifndef CORGI_MODEL_RATES_H
#define CORGI_MODEL_RATES_H

#include "base/bytes.h"
#include "model/kernel.h"
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

struct rates;

struct rates *rates_create(const struct kernel_params *params);
void rates_destroy(struct rates *rates); /* NULL is fine */

int rates_add_job(struct rates *rates, const struct job_trait *job);
int rates_add_gpu(struct rates *rates, const struct gpu_trait *gpu);

/* A measurement of one cell; a later one replaces it.  NaN forgets it. */
void rates_observe(struct rates *rates, int job, int gpu, double log_rate);
double rates_seen(const struct rates *rates, int job, int gpu); /* NaN: never */

/* How busy the job kept the device, 0..1, when it ran alone; NaN: nobody knows. */
void rates_observe_busy(struct rates *rates, int job, int gpu, double busy);

/* Weight of the network where rates are carried over, 0..1. */
void rates_set_weight(struct rates *rates, double weight);

/* A guess again with another weight. */
void rates_mix(struct rates_guess *guess, double weight);

/* What the network sees of a cell never measured, for training; false where it is not
 * asked: the job was not measured elsewhere with its draw. */
bool rates_transfer_row(const struct rates *rates, int job, int gpu,
                        struct statnet_row *row);

/* Adapt the ratios between GPUs to what was measured; levels stay. */
struct kernel_params rates_fit(const struct rates *rates, int steps);
void rates_set_params(struct rates *rates, const struct kernel_params *params);

/* Carry rates over by closed forms alone, without the core.  For comparisons. */
void rates_set_closed(struct rates *rates, bool alone);

/* For checkpoints; reading needs the GPU types added and no job yet. */
void rates_write(const struct rates *rates, struct bytes_out *out);
void rates_read(struct rates *rates, struct bytes_in *in);

struct rates_guess rates_predict(const struct rates *rates, int job, int gpu);
/* The same of a job that was never added: what it would be then. */
struct rates_guess rates_predict_guest(const struct rates *rates,
                                       const struct job_trait *guest, int gpu);

int rates_job_count(const struct rates *rates);

#endif
