/* exact.h - branch and bound for small cases
 *
 * The LP over places of single tasks (master.h) gives a bound and tells what each place
 * would cost too much; those that cannot be part of a better plan than the one at hand
 * are left out, and the rest is branched over, rounded and searched in turn.  Ends early
 * when what is at hand is proven to be near enough. */
#ifndef CORGI_LOOP_OPTIMIZE_EXACT_H
#define CORGI_LOOP_OPTIMIZE_EXACT_H

#include "loop/optimize/lp.h"
#include "loop/optimize/search.h"

#define EXACT_TOLERANCE 2e-4 /* near enough, as a part of the cost */

/* Improve s, given the proven worth of its tasks (bound.h).  *bound: lower bound on the
 * cost on types that came with it, hosts as work.open has them; -INFINITY: none. */
void exact_run(struct search *s, struct lp *lp, const double *proven, double *bound);

#endif
