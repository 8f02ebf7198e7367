/* master.h - the LP over places of single tasks, for small cases
 *
 * A column is a device of a type with one or two tasks, or a task without a place.  New
 * columns are priced in from the tables of all pairs until none would save.  Of three
 * tasks only two can share, but the LP pairs them all by halves: such odd sets are cut
 * off, which closes most of what lies between the LP and the best plan.  Every round of
 * duals gives a proven bound, whatever columns are missing. */
#pragma once

#include "lab/solver/lp.h"
#include "lab/solver/solver_search.h"

#define MASTER_CUTS 128

struct master_column {
    float cost;
    int type; /* -1: no place */
    int task[2];
};

struct master_cut {
    bool *has; /* (tasks) */
    int row;
};

struct master {
    struct work *w; /* tabulated */
    struct lp *lp;
    struct master_column *columns; /* (room) as in the LP */
    int count, room;
    bool *present; /* (types, tasks, tasks) i < j; i alone is (i, i) */
    struct master_cut cuts[MASTER_CUTS];
    int cut_count;
    float *charge;  /* (tasks, tasks) what the cuts add to a pair */
    double *worth;  /* (tasks) duals of the last solve, lowered until they hold */
    float *rough;   /* (tasks) the same to a float's precision */
    double *over;   /* (tasks) what was too much */
    double *price;  /* (types) at least 0 */
    double current; /* bound of these duals */
    double bound;   /* the best so far */
    /* The best duals that hold without the charge of cuts: what the search can use. */
    double plain;
    double *best_worth, *best_price;
};

/* The first columns are those of least reduced cost at w's prices and worth (tasks), and
 * those of the placement. */
void master_init(struct master *m, struct work *w, struct lp *lp, const double *worth,
                 const struct search *placement);

/* Go on until nothing is left to price in or cut off, the bound has reached enough, or
 * so many iterations of the simplex method are done.  False when the LP failed. */
bool master_solve(struct master *m, double enough, long iterations);

/* What a column costs beyond the worth of its tasks at the last duals; at least 0. */
double master_reduced(const struct master *m, int type, int i, int j);
