/* gather.h - the tasks of a gang side by side on one node */
#ifndef CORGI_LAB_SOLVER_GATHER_H
#define CORGI_LAB_SOLVER_GATHER_H

#include "lab/solver/problem.h"

/* holder (devices): index of the solution's device on it, or -1; kept up to date. */

/* Gangs none of whose devices has a place yet: onto the wanted node they fill best, if
 * one has room. */
void gather_new_gangs(const struct problem *p, struct solution *s, int *holder,
                      const bool *wanted);

/* Gangs that lie on several nodes and are too slow there: exchange places with others
 * until they are on one node; those for which that fails are taken out, unserved. */
void gather_needy_gangs(const struct problem *p, struct solution *s, int *holder);

#endif
