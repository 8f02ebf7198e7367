/* check_solution.h - is this a plan at all, and does it cost what it says?
 *
 * Written apart from the optimizer and using none of its code: only the structs of
 * problem.h.  Tests and the simulator's debug mode put every plan through it. */
#pragma once

#include "base/err.h"
#include "lab/solver/problem.h"

/* -1 and a sentence naming the first thing that is wrong: ERR_INVALID for a rule that is
 * broken, ERR_FORMAT for figures that do not add up. */
int check_solution(const struct problem *p, const struct solution *s, struct err *err);
