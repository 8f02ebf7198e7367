/* prior.h - the first estimate of a job nobody has measured: data sheets and its
 * description
 *
 * Rates are its work divided by what the data sheet promises, or, when nothing is told of
 * its work, what it asks for; watts and memory likewise.  Everything here is a guess with
 * a wide interval; refine/ corrects it. */
#pragma once

#include "loop/types.h"

struct prior {
    const struct gpu_sheet *types; /* borrowed */
    int type_count;
    double middle_speed; /* geometric mean of the types' speeds */
};

struct prior prior_make(const struct gpu_sheet *types, int type_count);

double prior_log_rate(const struct prior *prior, const struct job *job, int type);

/* Log relative speed beside one other job. */
double prior_log_relative(void);

/* Of a device running so many jobs under a cap (0: none), and what the cap does to rates.
 */
double prior_watts(const struct prior *prior, const struct combination *where);
double prior_cap_speed(const struct prior *prior, const struct combination *where);

/* Probability that the memory suffices, from what users told. */
double prior_fits(const struct prior *prior, const struct combination *where);

/* How much an observation that is off by this log counts, 0..1: what is inferred of a
 * service counts less the less sure it is, and a floor only lifts. */
double prior_weight(const struct observation *seen, double surprise);
