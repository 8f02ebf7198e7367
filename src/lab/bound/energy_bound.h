/* energy_bound.h - less energy than this no plan takes that keeps every requirement
 *
 * A linear program over the whole run with true rates: seconds of every combination of
 * one or two jobs on a type under a power limit, at the least cost, so that all work is
 * done, all services are served and no type has more device-seconds than there are.  Left
 * out, which makes it a bound: when jobs come, whole devices and whole nodes (a device is
 * charged its part of a node that is full), moves, waking and learning.  Services count
 * with what is asked of them when they start at once.
 *
 * Solved by columns: each round of prices proves a bound, and it ends when the prices are
 * nearly those of the optimum. */
#pragma once

#include "lab/bound/bound_tasks.h"

/* Joules of the whole run, where idle nodes sleep; NaN: rates drift, services scale, or
 * there are too many jobs. */
double energy_bound_joules(const struct bound_case *in);
