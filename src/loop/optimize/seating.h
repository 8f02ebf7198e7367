/* seating.h - types for the devices of a pairing, within the number there are
 *
 * Given who shares with whom, every device takes its cheapest type; the price of an
 * over-full type rises until just enough devices prefer another.  What finds no room is
 * parked. */
#ifndef CORGI_LOOP_OPTIMIZE_SEATING_H
#define CORGI_LOOP_OPTIMIZE_SEATING_H

#include "loop/optimize/graph.h"
#include "loop/optimize/search.h"

/* Put all of g's tasks into the empty placement s. */
void seating_run(const struct graph *g, struct search *s);

#endif
