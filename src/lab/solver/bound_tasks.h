/* bound_tasks.h - the bound task by task, where tasks of a class differ
 *
 * lp_bound.h takes the least disturbing task of a class for all of it, which costs
 several
 * percent where every job has factors of its own.  Here every pair of tasks is looked at:
 * worth is lowered task by task to what the others allow, then raised as far as they do.
 The work grows with the square of the tasks. */
#pragma once

#include "lab/solver/work.h"

#define BOUND_TASKS_MOST 2500 /* beyond, it takes too long */

/* Do tasks of one class differ in more than how much they need? */
bool bound_tasks_differ(const struct work *w);

/* As bound_from(). */
double bound_tasks_from(const struct work *w, const float *pi, double *proven);
