/* cycles.h - from a permutation of tasks to pairs
 *
 * A cycle of one is a task alone, of two a pair; a longer even cycle falls apart into
 * pairs in two ways, of which the cheaper is taken; an odd one leaves a task over, and
 * two odd ones are joined through the pair of left-over tasks that saves most. */
#ifndef CORGI_LAB_SOLVER_CYCLES_H
#define CORGI_LAB_SOLVER_CYCLES_H

#include "lab/solver/graph.h"

/* Sets g->mate and g->cost. */
void cycles_to_pairs(struct graph *g, const int *next);

#endif
