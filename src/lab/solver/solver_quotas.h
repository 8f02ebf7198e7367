/* solver_quotas.h - owners may hold so many devices: decided before anything is placed */
#ifndef CORGI_LAB_SOLVER_SOLVER_QUOTAS_H
#define CORGI_LAB_SOLVER_SOLVER_QUOTAS_H

#include "lab/solver/problem.h"

/* Set held (jobs): what is over its owner's quota.  Running jobs come first, then those
 * whose waiting does most harm, then the order of the problem. */
void quotas_hold(const struct problem *p, bool *held);

#endif
