/* polish.h - iterated local search for small cases
 *
 * Under about a hundred tasks a single misplaced job shows in the gap.  A few devices are
 * torn open, their tasks put back in another order, chains (chains.h) repair what that
 * did, and what is no worse is kept. */
#ifndef CORGI_LAB_SOLVER_POLISH_H
#define CORGI_LAB_SOLVER_POLISH_H

#include "lab/solver/chains.h"

#define POLISH_PARTNERS 8

/* Partners worth trying, best first; devices torn open together are linked by these. */
struct polish_hints {
    int *partners; /* (tasks, POLISH_PARTNERS) */
    int *count;    /* (tasks) */
};

/* Spends about this many steps of chains, fewer when the cost comes down to enough;
 * returns how many. */
long polish_run(struct search *s, const struct polish_hints *hints,
                const struct chains_lists *lists, long steps, double enough);

#endif
