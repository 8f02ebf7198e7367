/* solve.h - the pipeline: prices, candidates, matching, seating, search, nodes, bound
 *
 * A solver keeps its memory between problems.  Not thread-safe; the same problem and seed
 * give the same solution, save when a time limit cuts it short. */
#ifndef CORGI_LAB_SOLVER_SOLVE_H
#define CORGI_LAB_SOLVER_SOLVE_H

#include "base/clock.h"
#include "lab/solver/problem.h"

struct solver;

struct solve_options {
    const struct clock *clock; /* NULL: no time limit */
    double limit_s;            /* best plan so far once this has passed */
    int candidates;            /* partners looked at for each task; 0: 20 */
    int passes;                /* of local search; 0: by size */
    bool no_lp;                /* prices by sampling, for tests and comparisons */
};

struct solver *solver_create(uint64_t seed);
void solver_destroy(struct solver *solver); /* NULL is fine */

/* Never fails: what cannot be served stays unserved.  options may be NULL. */
void solver_run(struct solver *solver, const struct problem *p,
                const struct solve_options *options, struct solution *out);

/* Of the last run: worth of each task in the order of the problem's jobs, and price of
 * each type (PROBLEM_MAX_TYPES); for update.h.  Borrowed until the next run. */
const double *solver_worth(const struct solver *solver);
const double *solver_price(const struct solver *solver);

/* Bytes of scratch memory held: does not grow between problems of one size. */
size_t solver_memory(const struct solver *solver);

/* Seconds of the stages of the last run, for the bench; clock_cpu_s() of the caller's. */
struct solve_times {
    double prices, bound, candidates, matching, seating, search, polish, nodes, levers;
};
const struct solve_times *solver_times(const struct solver *solver);

#endif
