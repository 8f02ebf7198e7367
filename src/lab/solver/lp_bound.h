/* lp_bound.h - a proven lower bound from the prices
 *
 * If no place costs less than what its tasks are worth (pi_i + pi_j <= cost + price for
 * every pair and type, pi_i <= cost + price alone, pi_i <= penalty), no plan costs less
 * than sum of pi - sum of price x devices.  Prices and a first pi may come from anywhere:
 * the bound first lowers pi until that holds, class against class, then raises it task by
 * task as far as it goes.  The work grows with types x classes^2 + tasks. */
#pragma once

#include "lab/solver/work.h"

/* pi (tasks) is where it starts; left untouched.  proven (tasks, may be NULL) gets the
 * values the bound rests on.  Moves and waking are not counted: they
 * only add. */
double bound_from(const struct work *w, const float *pi, double *proven);

/* What comes on top of the cost on types: watts that no plan can avoid (hosts that may
 * not sleep, sleep of the others). */
double bound_constant(const struct work *w);

/* The bound that values of tasks give when no place is worth more than it costs: their
 * sum, less what the devices are worth at the prices.  proven as above. */
double bound_total(const struct work *w, const double *pi, double *proven);
