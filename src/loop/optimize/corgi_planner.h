/* corgi_planner.h - Corgi's planner: the optimizer behind the interface of all planners
 *
 * Poses the problem (pose.h), solves it (solve.h) and writes the plan.  What the first
 * solve leaves without a place though it runs, or has waited its grace time, is tried
 * again with its requirement relaxed; a running job is never stopped. */
#ifndef CORGI_LOOP_OPTIMIZE_CORGI_PLANNER_H
#define CORGI_LOOP_OPTIMIZE_CORGI_PLANNER_H

#include "loop/planner.h"

extern const struct planner_ops corgi_planner_ops;

/* Put every plan through the optimizer's checker and end the process on the first that
 * fails; for tests and the simulator's debug mode. */
void corgi_planner_check(void *self, bool check);

#endif
