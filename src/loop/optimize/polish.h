/* polish.h - iterated local search for small cases
 *
 * Under about a hundred tasks a single misplaced job shows in the gap.  A few devices are
 * torn open, their tasks put back in another order, and what is no worse is kept. */
#ifndef CORGI_LOOP_OPTIMIZE_POLISH_H
#define CORGI_LOOP_OPTIMIZE_POLISH_H

#include "loop/optimize/search.h"

/* Spends about this many evaluations of moves, less when the cost reaches enough. */
void polish_run(struct search *s, long evaluations, double enough);

#endif
