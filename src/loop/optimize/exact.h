/* exact.h - branch and bound for small cases
 *
 * A column is a device of a type with one or two tasks.  The duals behind the bound tell
 * what each column would cost too much; those that cannot be part of a better plan than
 * the one at hand are left out, and the few that remain make a small integer program. */
#ifndef CORGI_LOOP_OPTIMIZE_EXACT_H
#define CORGI_LOOP_OPTIMIZE_EXACT_H

#include "loop/optimize/lp.h"
#include "loop/optimize/search.h"

/* Improve s, given the proven worth of its tasks (bound.h).  True when the result is
 * shown to be within EXACT_TOLERANCE of the best on types. */
#define EXACT_TOLERANCE 2e-4
bool exact_run(struct search *s, struct lp *lp, const double *proven);

#endif
