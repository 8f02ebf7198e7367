/* solver_nodes.h - which physical device: few moves, few nodes awake, gangs on one node
 */
#pragma once

#include "lab/solver/arena.h"
#include "lab/solver/problem.h"

/* Give every device of the solution a physical one and say which nodes are awake.  A gang
 * that needs one node and gets none is taken out again: unserved. */
void nodes_assign(const struct problem *p, struct arena *arena, struct solution *s);
