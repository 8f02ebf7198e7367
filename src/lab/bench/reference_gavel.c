/* reference_gavel.c - Gavel's packed max-min fairness LP, see reference.h
 *
 * Published form: the share of time each job and each pair of jobs spends on each type,
 * so that the least effective throughput, relative to an equal share of the cluster, is
 * as large as can be.  A variable per (job or pair, type). */
#include "lab/bench/reference_private.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

static double rate(const struct reference *r, int v, int i, int j)
{
    const struct problem *p = r->p;
    int k = r->w.cls[i];

    if (j < 0)
        return p->alone_rate[(size_t)v * (size_t)p->class_count + (size_t)k];
    return p->pair_rate[problem_cell(p, v, k, r->w.cls[j])];
}

/* Rate under an equal share of every type. */
static double *equal_shares(const struct reference *r)
{
    const struct work *w = &r->w;
    double *equal = mem_array(double, (size_t)w->tasks + 1);
    double total = 0;

    for (int t = 0; t < w->types; t++)
        total += (double)w->devices[t] / w->tasks;
    for (int i = 0; i < w->tasks; i++)
        for (int t = 0; t < w->types; t++)
            equal[i] += rate(r, r->p->types[t].first_variant, i, -1) * w->devices[t] /
                        w->tasks / fmax(total, 1e-9);
    return equal;
}

static void add_column(struct reference *r, const double *equal, int t, int i, int j)
{
    int n = r->w.tasks, v = r->p->types[t].first_variant, count = 3;
    int rows[5] = {2 * n + t, i, n + i, j, n + j};
    double values[5] = {1, 0, 1, 0, 1};

    values[1] = rate(r, v, i, j) / equal[i];
    if (j >= 0) {
        values[3] = rate(r, v, j, i) / equal[j];
        count = 5;
        if (values[1] <= 0 || values[3] <= 0)
            return;
    }
    reference_add(r, 0, LP_INFINITY, count, rows, values, t, i, j);
}

/* Rows: throughput of each job (less the least), its time, devices of each type. */
void reference_gavel(struct reference *r)
{
    const struct work *w = &r->w;
    int n = w->tasks;
    double *equal = equal_shares(r);
    int *index = mem_array(int, (size_t)n + 1);
    double *minus = mem_array(double, (size_t)n + 1);

    for (int i = 0; i < n; i++) {
        lp_row(r->lp, 0, LP_INFINITY);
        index[i] = i;
        minus[i] = -1;
    }
    for (int i = 0; i < n; i++)
        lp_row(r->lp, -LP_INFINITY, 1);
    for (int t = 0; t < w->types; t++)
        lp_row(r->lp, -LP_INFINITY, w->devices[t]);
    reference_add(r, -1, LP_INFINITY, n, index, minus, -1, -1, -1);
    for (int t = 0; t < w->types; t++)
        for (int i = 0; i < n; i++) {
            add_column(r, equal, t, i, -1);
            for (int j = i + 1; j < n; j++)
                add_column(r, equal, t, i, j);
        }
    r->result->proven = lp_solve(r->lp, LP_DUAL, r->limit_s);
    r->result->objective = r->result->proven ? -lp_objective(r->lp) : NAN;
    free(equal);
    free(index);
    free(minus);
}
