/* groups.h - three or four jobs on a device, from a plan of single jobs and pairs
 *
 * Everything up to here knows pairs.  Where more may share, devices are joined, or single
 * jobs moved over, as long as that saves: candidates are those whose members go well with
 * each other two by two, the rates of the whole are asked for these alone.  What is
 * proven for pairs is not for groups: such plans come without a bound. */
#ifndef CORGI_LAB_SOLVER_GROUPS_H
#define CORGI_LAB_SOLVER_GROUPS_H

#include "lab/solver/work.h"

/* May more than two share at all? */
bool groups_wanted(const struct problem *p);

/* Join devices of s (no physical ones yet); jobs without a place join, too.  Returns the
 * joins made. */
int groups_join(const struct work *w, const bool *held, struct solution *s);

#endif
