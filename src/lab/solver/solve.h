/* solve.h - the pipeline: prices, candidates, matching, seating, search, nodes, bound
 *
 * A solver keeps its memory between problems.  Not thread-safe; the same problem and seed
 * give the same solution. */
#pragma once

#include "lab/solver/problem.h"

struct solver;

struct solve_options {
    bool no_lp; /* prices by sampling, for tests and comparisons */
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
