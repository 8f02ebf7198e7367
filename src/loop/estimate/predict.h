/* predict.h - asking a model, and reading what it says
 *
 * Asks the model, keeps its answers sane whatever the model is, and reads intervals: a
 * requirement is judged at the confidence it was asked with. */
#pragma once

#include "loop/types.h"
#include "model/model.h"

/* No estimate is below this; one that is there says that nothing is believed possible. */
#define PREDICT_LEAST 1e-12

/* Below this belief in memory a place is not tried. */
#define PREDICT_FITS_LEAST 0.5

/* Predict a combination.  Rates and watts come back positive and finite with
 * low <= value <= high, fits within 0..1. */
void predict(const struct model *model, const struct combination *where,
             struct prediction *out);

/* One job alone on one type without a cap, on one node; a service with all the requests
 * it may be asked for, or with those it is asked for now. */
struct prediction predict_alone(const struct model *model, const struct job *job,
                                int type);
struct prediction predict_alone_now(const struct model *model,
                                    const struct job_status *status, int type);

/* The value that is exceeded with this probability, reading the 90 % interval as that of
 * a log-normal; confidence 0.5 gives the value itself. */
double estimate_at_confidence(const struct estimate *estimate, double confidence);

/* The probability that the value is at least this much, read likewise. */
double estimate_chance(const struct estimate *estimate, double least);

/* An estimate from its logarithm and the standard deviation of that. */
struct estimate estimate_from_log(double log_value, double sd_log,
                                  enum estimate_source source, int observations);
