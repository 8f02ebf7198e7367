/* prices.h - what a device of each type and a place for each task is worth
 *
 * Jobs of one class differ only in how good a place they need.  Order the places a class
 * can get (type, cap, class of the partner) by the rate they give: each job can use a
 * prefix of that order, so a chain of carry variables a class says exactly which sets of
 * places suffice.  The LP over counts of places is as large as types x classes^2 however
 * many jobs there are, and its duals are the prices everything else runs on. */
#ifndef CORGI_LOOP_OPTIMIZE_PRICES_H
#define CORGI_LOOP_OPTIMIZE_PRICES_H

#include "loop/optimize/lp.h"
#include "loop/optimize/work.h"

/* Columns the class LP of these tasks would have, about: decides whether to solve it. */
long prices_size(const struct work *w);

/* Set w->price and w->pi from the class LP.  False when the LP library gave up: prices
 * are then zero and pi the cost alone. */
bool prices_from_classes(struct work *w, struct lp *lp);

/* pi from prices alone: half of what a task costs by itself.  A start for the matching.
 */
void prices_guess_pi(struct work *w);

#endif
