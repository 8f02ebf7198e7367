/* solver_caps.h - power caps as variants of a type, pruned by dominance
 *
 * Within a type a cap is of use for a class or a pair only if no other cap costs less or
 * the same and gives every member at least its rate: the rest can never be chosen. */
#pragma once

#include "lab/solver/work.h"

/* Set dominated cells to WORK_NEVER; returns how many. */
long caps_prune(struct work *w);
