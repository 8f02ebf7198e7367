/* chains.h - moves that touch several devices at once, for small cases
 *
 * A device is broken up; a task of it takes a seat beside a task of another device, whose
 * partner is loose then and goes on in the same way, until everybody has a place and no
 * type is used beyond its devices.  At the prices every place costs something beyond its
 * worth: a chain is followed only while it has broken up more of that than it has put in
 * its place, and some rotation of every chain that saves has this property. */
#pragma once

#include "lab/solver/solver_search.h"

#define CHAINS_LIST 24

struct chains_place {
    float reduced; /* cost beyond the worth of both */
    short type;    /* -1: no place */
    short mate;    /* -1: alone */
};

/* Places of each task, least reduced cost first. */
struct chains_lists {
    struct chains_place *places; /* (tasks, CHAINS_LIST) */
    int *count;                  /* (tasks) */
};

/* From s's worth and prices, which must hold (lp_bound.h); slack: no dearer than this. In
 * the arena of the work, which must be tabulated. */
void chains_list(struct chains_lists *lists, const struct search *s, double slack);

struct chains_effort {
    int broken;   /* devices a chain breaks up at most, up to 32 */
    long a_start; /* steps spent on the chains from one record */
    long steps;   /* in all */
    double allow; /* watts that a chain may lose on its way */
    bool paths;   /* long ones, one seat after the other the best (paths.h) */
};

/* Make moves that save until there are none or the steps are used up; returns the steps
 * made. */
long chains_run(struct search *s, const struct chains_lists *lists,
                const struct chains_effort *effort);

/* The same, starting from the records of these tasks only. */
long chains_from(struct search *s, const struct chains_lists *lists, const int *tasks,
                 int count, const struct chains_effort *effort);
