/* estimate.h - the stage that says how jobs would run
 *
 * Asks the model, keeps its answers sane whatever the model is, and reads intervals: a
 * requirement is judged at the confidence it was asked with. */
#ifndef CORGI_LOOP_ESTIMATE_ESTIMATE_H
#define CORGI_LOOP_ESTIMATE_ESTIMATE_H

#include "loop/model.h"

/* Predict a combination.  Rates and watts come back positive and finite with
 * low <= value <= high, fits within 0..1. */
void estimate_combination(struct model *model, const struct combination *where,
                          struct prediction *out);

/* One job alone on one type without a cap, on one node. */
struct prediction estimate_alone(struct model *model, const struct job *job, int type);

/* The value that is exceeded with this probability, reading the 90 % interval as that of
 * a log-normal; confidence 0.5 gives the value itself. */
double estimate_at_confidence(const struct estimate *estimate, double confidence);

/* An estimate from its logarithm and the standard deviation of that. */
struct estimate estimate_from_log(double log_value, double sd_log,
                                  enum estimate_source source, int observations);

/* Quantile of the standard normal distribution, probability in (0, 1). */
double estimate_normal_quantile(double probability);

const char *estimate_source_name(enum estimate_source source);

#endif
