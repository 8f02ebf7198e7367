/* candidates.h - a few partners worth considering for each task
 *
 * Those of least reduced cost: what the pair costs at the prices less what the partner is
 * worth elsewhere.  Looking for the largest savings instead sends everybody after the
 * same partners.  Tasks are dealt into blocks in which all pairs are looked at, so the
 * work grows with tasks x block. */
#pragma once

#include "lab/solver/graph.h"

/* round 0 starts afresh; later rounds deal into other blocks, keep each task's mate and
 * the better half of its candidates, and look for new ones. */
void candidates_find(struct graph *g, int block, int round);
