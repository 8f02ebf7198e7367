/* reference_exact.c - the integer program after column generation, see reference.h
 *
 * The duals of the LP optimum say what a column costs beyond the worth of its jobs.  One
 * whose excess is more than what lies between the LP's bound and a plan that is known
 * cannot be part of a better plan: left out, nothing is lost, and a fraction of the
 * columns goes to CBC. */
#include "bench/reference_own.h"

#include "base/mem.h"
#include "bench/mip.h"
#include "loop/optimize/solve.h"

#include <math.h>
#include <stdlib.h>

#define GAP 1e-5

struct kept {
    double slack; /* between bound and the plan that is known */
    const double *price, *worth;
};

static void keep(struct reference *r, const struct kept *k, int t, int i, int j)
{
    const struct work *w = &r->w;
    float cost = j < 0 ? work_alone(w, t, i, NULL) : work_pair(w, t, i, j, NULL);
    double excess = (double)cost - k->price[t] - k->worth[i] - (j < 0 ? 0 : k->worth[j]);

    if (cost < WORK_NEVER && excess <= k->slack)
        reference_strong_column(r, t, i, j);
}

static void keep_columns(struct reference *r, const struct kept *k)
{
    lp_clear(r->lp);
    r->count = 0;
    reference_strong_rows(r);
    for (int t = 0; t < r->w.types; t++)
        for (int i = 0; i < r->w.tasks; i++) {
            keep(r, k, t, i, -1);
            for (int j = i + 1; j < r->w.tasks; j++)
                keep(r, k, t, i, j);
        }
}

/* The cheapest plan at hand: that of the optimizer. */
static double known_plan(const struct reference *r, struct solution *plan)
{
    struct solver *solver = solver_create(1);

    solver_run(solver, r->p, NULL, plan);
    solver_destroy(solver);
    return plan->cost;
}

static void solve_kept(struct reference *r, double bound, double known)
{
    bool *integer = mem_array(bool, (size_t)r->count);
    double *values = mem_array(double, (size_t)r->count);
    struct mip_result m;

    for (int c = 0; c < r->count; c++)
        integer[c] = true;
    m = mip_solve(r->lp, integer, r->limit_s, GAP, values);
    r->result->proven = m.proven;
    r->result->bound = fmax(bound, fmin(m.bound, known));
    if (m.found && m.objective < known - 1e-6 * fabs(known))
        reference_plan(r, values);
    free(integer);
    free(values);
}

void reference_exact(struct reference *r)
{
    double *price = mem_array(double, (size_t)r->w.types);
    double *worth = mem_array(double, (size_t)r->w.tasks + 1);
    struct solution plan = {0};
    double known = known_plan(r, &plan), bound;
    struct kept kept = {.price = price, .worth = worth};

    bound = reference_duals(r, price, worth);
    kept.slack = known - bound + 1e-6 * fabs(known);
    keep_columns(r, &kept);
    solution_copy(r->out, &plan, r->p);
    r->result->has_plan = true;
    r->result->objective = known;
    solve_kept(r, bound, known);
    solution_fini(&plan);
    free(price);
    free(worth);
}
