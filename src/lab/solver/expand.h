/* expand.h - from the class LP's numbers to devices with named tasks
 *
 * Where devices are scarce, whole classes change type at once when a price moves, and no
 * prices make a matching that fits.  The LP itself says how many of each go where: those
 * counts, rounded down, with the best places for the most demanding, are the other start
 * for the search. */
#pragma once

#include "lab/solver/prices.h"
#include "lab/solver/solver_search.h"

/* Put all tasks into the empty placement s; those the counts leave over are parked. */
void expand_run(const struct prices_plan *plan, struct search *s);
