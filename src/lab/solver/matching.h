/* matching.h - who shares with whom, at the present prices
 *
 * An auction on the double cover: every task bids for a partner task (itself: alone), the
 * price of a wanted partner falls by at least one increment a bid.  The result is a
 * permutation; its cycles become pairs. */
#pragma once

#include "lab/solver/graph.h"

/* Set g->mate and g->cost from g's candidates, and w->pi to the duals found.  The loss
 * against the best matching on these edges is at most tasks x increment / 2 beside what
 * odd cycles cost. */
void matching_run(struct graph *g, double increment_watts);
