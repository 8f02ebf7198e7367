/* solver_limit.h - a limit on the power of nodes and devices together
 *
 * While the limit binds, watts count for more than they cost (work.watts_weight): the
 * weight is searched for at which the plan just fits.  Every weight gives a bound. */
#ifndef CORGI_LAB_SOLVER_SOLVER_LIMIT_H
#define CORGI_LAB_SOLVER_SOLVER_LIMIT_H

#include "lab/solver/problem.h"

/* Solves with a weight on watts: fills out, returns the bound. */
typedef double limit_solve(void *self, double watts_weight, struct solution *out);

/* out holds the plan at weight 1, over the limit, with its bound.  Afterwards it holds
 * the cheapest plan found that keeps the limit and the best bound; spare is scratch. */
void limit_search(const struct problem *p, limit_solve *solve, void *self,
                  struct solution *out, struct solution *spare);

/* Take jobs out, the least harm first, until the limit is kept or none is left that may
 * be. */
void limit_shed(const struct problem *p, struct solution *out);

#endif
