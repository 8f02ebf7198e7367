/* exact.h - small cases: near the optimum, and proven to be
 *
 * The LP over places of single tasks (master.h) gives a bound and duals; its solution is
 * rounded, and chains (chains.h) and tearing devices open go on from there, no longer
 * than what is at hand is not proven to be near enough. */
#pragma once

#include "lab/solver/lp.h"
#include "lab/solver/solver_search.h"

#define EXACT_TOLERANCE 3e-4 /* near enough, as a part of the cost */
#define EXACT_ENOUGH    1e-3 /* near enough not to tear it open again */

/* Improve s; worth (tasks) is a guess to begin with.  Afterwards s has the duals of the
 * LP as worth, and the work its prices.  *bound: lower bound on the cost on types that
 * came with it, hosts as work.open has them; -INFINITY: none. */
void exact_run(struct search *s, struct lp *lp, const double *worth, double *bound);
