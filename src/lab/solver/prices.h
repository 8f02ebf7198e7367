/* prices.h - what a device of each type and a place for each task is worth
 *
 * Jobs of one class differ only in how good a place they need.  Order the places a class
 * can get (type, cap, class of the partner) by the rate they give: each job can use a
 * prefix of that order, so a chain of carry variables a class says exactly which sets of
 * places suffice.  The LP over counts of places is as large as types x classes^2 however
 * many jobs there are, and its duals are the prices everything else runs on. */
#pragma once

#include "lab/solver/lp.h"
#include "lab/solver/work.h"

/* Columns the class LP of these tasks would have, about: decides whether to solve it. */
long prices_size(const struct work *w);

/* The LP's own plan in whole numbers: how many devices of a type with members of which
 * groups, and who is in a group.  In the arena of the work. */
struct prices_place {
    int type;
    int group[2];  /* second -1: alone */
    float rate[2]; /* that each gets */
    int count;
};

struct prices_plan {
    int place_count;
    struct prices_place *places;
    int group_count;
    int *first; /* (groups + 1) in order */
    int *order; /* (tasks) by group, most demanding first */
};

/* Set w->price and w->pi from the class LP, and *plan.  False when the LP library gave
 * up: prices are then zero, pi the cost alone and the plan empty. */
bool prices_from_classes(struct work *w, struct lp *lp, struct prices_plan *plan);

/* pi from prices alone: half of what a task costs by itself.  A start for the matching.
 */
void prices_guess_pi(struct work *w);
