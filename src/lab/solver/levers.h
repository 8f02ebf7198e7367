/* levers.h - a lever that may be used never makes the plan dearer
 *
 * Caps and sleep make the problem larger, and a search that ends early can end dearer in
 * a larger one.  So the plan is held against what would come out without caps, without
 * sleep and without both: where a bound shows that it cannot be dearer nothing is to be
 * done, and that is nearly always; else the smaller problem is solved and the cheaper of
 * the two plans stays. */
#pragma once

#include "lab/solver/work.h"

/* Solves another problem with the same jobs and devices. */
typedef void levers_solve(void *self, const struct problem *p, struct solution *out);

struct levers {
    const struct problem *p;
    struct arena *arena;
    const double *price; /* (types) of the full problem, a start for the bounds */
    const double *worth; /* (tasks) the same */
    levers_solve *solve;
    void *self;
    struct solution *spare; /* scratch */
    int solved;             /* smaller problems that had to be solved */
};

/* out holds the plan of l->p. */
void levers_run(struct levers *l, struct solution *out);
