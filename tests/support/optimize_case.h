/* optimize_case.h - problems and runs that the optimizer's tests share */
#pragma once

#include "base/err.h"
#include "lab/bench/instance.h"
#include "support/instance_world.h"
#include "lab/bench/reference.h"
#include "lab/solver/check_solution.h"
#include "lab/solver/solve.h"
#include "lab/solver/solver_search.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

/* An instance on the made-up world of three types. */
static inline struct problem *case_problem(struct instance_options options)
{
    struct world *world = instance_world(3, 7);
    struct problem *p = instance_create(world, &options);

    world_destroy(world);
    return p;
}

/* Solve and put the plan through the checker; the test fails with its sentence. */
static inline void case_solve(const struct problem *p, struct solution *s)
{
    struct solver *solver = solver_create(1);
    struct err err = {0};

    solver_run(solver, p, NULL, s);
    if (check_solution(p, s, &err) < 0)
        fail_msg("the checker refuses the plan: %s", err.text);
    solver_destroy(solver);
}

/* What the records of a search cost, counted afresh. */
static inline double case_search_cost(const struct search *s)
{
    double total = 0;

    for (int r = 0; r < s->count; r++)
        total += search_record_cost(s, &s->records[r]);
    for (int t = 0; t < s->w->types; t++)
        total += s->stairs ? s->stairs->extra[t][s->used[t]] : 0;
    return total;
}

static inline double case_brute_cost(const struct problem *p)
{
    struct reference_result r;
    struct solution s = {0};
    struct err err = {0};

    if (reference_run("brute", p, 0, &s, &r, &err) < 0)
        fail_msg("%s", err.text);
    if (check_solution(p, &s, &err) < 0)
        fail_msg("the checker refuses brute force: %s", err.text);
    solution_fini(&s);
    return r.objective;
}
