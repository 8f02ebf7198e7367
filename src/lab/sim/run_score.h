/* run_score.h - what a run comes to */
#ifndef CORGI_LAB_SIM_RUN_SCORE_H
#define CORGI_LAB_SIM_RUN_SCORE_H

#include "lab/sim/sim_run.h"

struct sim;

/* Books what is open up to now and fills *result; the caller ends it with
 * sim_result_fini(). */
void score_run(struct sim *sim, struct sim_result *result);

/* The value at this share (0..1) of a list, which gets sorted; NaN when it is empty. */
double score_quantile(double *values, size_t count, double share);

#endif
