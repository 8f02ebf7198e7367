/* reference_ilp.c - the two integer programs, see reference.h */
#include "lab/bench/reference_private.h"

#include "base/mem.h"
#include "lab/bench/mip.h"

#include <stdlib.h>

#define GAP 1e-5

static void solve(struct reference *r, bool all_integer)
{
    bool *integer = mem_array(bool, (size_t)r->count);
    double *values = mem_array(double, (size_t)r->count);
    struct mip_result m;

    for (int c = 0; c < r->count; c++)
        integer[c] = all_integer || r->columns[c].type >= 0;
    m = mip_solve(r->lp, integer, r->limit_s, GAP, false, values);
    r->result->proven = m.proven;
    r->result->bound = m.bound;
    if (m.found)
        reference_plan(r, values);
    free(integer);
    free(values);
}

void reference_cbc(struct reference *r)
{
    reference_strong_rows(r);
    for (int t = 0; t < r->w.types; t++)
        for (int i = 0; i < r->w.tasks; i++) {
            reference_strong_column(r, t, i, -1);
            for (int j = i + 1; j < r->w.tasks; j++)
                reference_strong_column(r, t, i, j);
        }
    solve(r, true);
}

/* ---- the paper's form ---------------------------------------------------------------
 */

/* Rate in parts of the need, on the cheapest cap that lets both run. */
static double share_of_need(const struct reference *r, int v, int i, int j)
{
    const struct problem *p = r->p;
    const struct work *w = &r->w;
    int k = w->cls[i], t = p->variants[v].type;
    double need = (double)w->thr[(size_t)i * (size_t)w->types + (size_t)t];
    double rate = j < 0 ? p->alone_rate[(size_t)v * (size_t)w->classes + (size_t)k]
                        : p->pair_rate[problem_cell(p, v, k, w->cls[j])] * w->drag[j];

    return need > 0 ? rate / need : 1;
}

static void paper_column(struct reference *r, int device, int type, int i, int j)
{
    const struct work *w = &r->w;
    int v = r->p->types[type].first_variant;
    int rows[5] = {device, 0, 0, 0, 0};
    double values[5] = {1, 1, 1, 1, 1};
    double cost = j < 0 ? w->cell1[(size_t)v * (size_t)w->classes + (size_t)w->cls[i]]
                        : w->cell2[problem_cell(r->p, v, w->cls[i], w->cls[j])];

    if (cost >= (double)WORK_NEVER)
        return;
    rows[1] = lp_rows(r->lp) - 2 * w->tasks + 2 * i;
    values[1] = share_of_need(r, v, i, j);
    rows[2] = rows[1] + 1;
    if (j >= 0) {
        rows[3] = lp_rows(r->lp) - 2 * w->tasks + 2 * j;
        values[3] = share_of_need(r, v, j, i);
        rows[4] = rows[3] + 1;
    }
    reference_add(r, cost, 1, j < 0 ? 3 : 5, rows, values, type, i, j);
}

/* Rows: one a device (at most one combination), then two a job: its throughput, and at
 * most one device. */
void reference_paper(struct reference *r)
{
    const struct work *w = &r->w;
    int device = 0, devices = 0;
    double one = 1;

    for (int t = 0; t < w->types; t++)
        devices += w->devices[t];
    for (int d = 0; d < devices; d++)
        lp_row(r->lp, -LP_INFINITY, 1);
    for (int i = 0; i < w->tasks; i++) {
        lp_row(r->lp, 1, LP_INFINITY);
        lp_row(r->lp, -LP_INFINITY, 1);
    }
    for (int i = 0; i < w->tasks; i++) {
        int row = devices + 2 * i;

        reference_add(r, (double)w->penalty[i], 1, 1, &row, &one, -1, i, -1);
    }
    for (int t = 0; t < w->types; t++)
        for (int d = 0; d < w->devices[t]; d++, device++)
            for (int i = 0; i < w->tasks; i++) {
                paper_column(r, device, t, i, -1);
                for (int j = i + 1; j < w->tasks; j++)
                    paper_column(r, device, t, i, j);
            }
    solve(r, true);
}
