/* reference_exact.c - the integer program with what can be ruled out left out, see
 * reference.h
 *
 * The duals of the LP optimum say what a column costs beyond the worth of its jobs.  One
 * whose excess is more than what lies between the LP's bound and a plan that is known
 * cannot be part of a better plan: left out, nothing is lost, and a fraction of the
 * columns goes to CBC, with the odd sets that the LP cut off as rows. */
#include "lab/bench/reference_private.h"

#include "base/mem.h"
#include "lab/bench/mip.h"
#include "lab/solver/master.h"
#include "lab/solver/solve.h"

#include <math.h>
#include <stdlib.h>

#define GAP        1e-5
#define ITERATIONS 200000

static void keep(struct reference *r, const struct master *m, double slack, int t, int i,
                 int j)
{
    int rows[3 + MASTER_CUTS], count = 0;
    double ones[3 + MASTER_CUTS];
    float cost = j < 0 ? work_alone(&r->w, t, i, NULL) : work_pair(&r->w, t, i, j, NULL);

    if (cost >= WORK_NEVER || master_reduced(m, t, i, j) > slack)
        return;
    rows[count++] = t;
    rows[count++] = r->w.types + i;
    if (j >= 0)
        rows[count++] = r->w.types + j;
    for (int c = 0; c < m->cut_count && j >= 0; c++)
        if (m->cuts[c].has[i] && m->cuts[c].has[j])
            rows[count++] = m->cuts[c].row;
    for (int x = 0; x < count; x++)
        ones[x] = 1;
    reference_add(r, (double)cost, 1, count, rows, ones, t, i, j);
}

/* Rows are numbered as the master has them. */
static void keep_columns(struct reference *r, const struct master *m, double slack)
{
    struct work *w = &r->w;
    double one = 1;

    for (int t = 0; t < w->types; t++)
        lp_row(r->lp, -LP_INFINITY, w->devices[t]);
    for (int i = 0; i < w->tasks; i++)
        lp_row(r->lp, 1, 1);
    for (int c = 0; c < m->cut_count; c++) {
        int size = 0;

        for (int i = 0; i < w->tasks; i++)
            size += m->cuts[c].has[i];
        lp_row(r->lp, -LP_INFINITY, (size - 1) / 2);
    }
    for (int i = 0; i < w->tasks; i++) {
        int row = w->types + i;

        reference_add(r, (double)w->penalty[i], 1, 1, &row, &one, -1, i, -1);
    }
    for (int t = 0; t < w->types; t++)
        for (int i = 0; i < w->tasks; i++) {
            keep(r, m, slack, t, i, -1);
            for (int j = i + 1; j < w->tasks; j++)
                keep(r, m, slack, t, i, j);
        }
}

static void solve_kept(struct reference *r, double bound, double known)
{
    bool *integer = mem_array(bool, (size_t)r->count);
    double *values = mem_array(double, (size_t)r->count);
    struct mip_result m;

    for (int c = 0; c < r->count; c++)
        integer[c] = true;
    m = mip_solve(r->lp, integer, r->limit_s, GAP, true, values);
    r->result->proven = m.proven;
    r->result->bound = fmax(bound, fmin(m.bound, known));
    if (m.found && m.objective < known - 1e-6 * fabs(known))
        reference_plan(r, values);
    free(integer);
    free(values);
}

void reference_exact(struct reference *r)
{
    double *nothing = mem_array(double, (size_t)r->w.tasks + 1);
    struct solver *solver = solver_create(1);
    struct lp *lp = lp_create();
    struct search none;
    struct master m;

    solver_run(solver, r->p, NULL, r->out); /* the plan that is known */
    r->result->has_plan = true;
    r->result->objective = r->out->cost;
    work_tabulate(&r->w);
    search_init(&none, &r->w, NULL, 1);
    master_init(&m, &r->w, lp, nothing, &none);
    if (master_solve(&m, INFINITY, ITERATIONS)) {
        double known = r->out->cost;

        keep_columns(r, &m, known - m.current + 1e-6 * fabs(known));
        solve_kept(r, m.bound, known);
    }
    lp_destroy(lp);
    solver_destroy(solver);
    free(nothing);
}
