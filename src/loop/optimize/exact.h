/* exact.h - branch and bound for small cases
 *
 * A column is a device of a type with one or two tasks.  The duals behind the bound tell
 * what each column would cost too much; those that cannot be part of a better plan than
 * the one at hand are left out, and the few that remain make a small integer program. */
#ifndef CORGI_LOOP_OPTIMIZE_EXACT_H
#define CORGI_LOOP_OPTIMIZE_EXACT_H

#include "loop/optimize/lp.h"
#include "loop/optimize/search.h"

/* Improve s, given the proven worth of its tasks (bound.h).  Stops when within this part
 * of the best there can be.  *bound: lower bound on the cost on types that came with it,
 * hosts as work.open has them; -INFINITY: none. */
#define EXACT_TOLERANCE 2e-4
void exact_run(struct search *s, struct lp *lp, const double *proven, double *bound);

#endif
