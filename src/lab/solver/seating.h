/* seating.h - types for the devices of a pairing, within the number there are
 *
 * Given who shares with whom, every device takes its cheapest type; the price of an
 * over-full type rises until just enough devices prefer another.  What finds no room is
 * parked. */
#ifndef CORGI_LAB_SOLVER_SEATING_H
#define CORGI_LAB_SOLVER_SEATING_H

#include "lab/solver/graph.h"
#include "lab/solver/solver_search.h"

/* Put all of g's tasks into the empty placement s. */
void seating_run(const struct graph *g, struct search *s);

#endif
