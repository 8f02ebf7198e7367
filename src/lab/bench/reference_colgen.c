/* reference_colgen.c - column generation to the LP optimum, see reference.h
 *
 * Exact pricing over every pair and type; then columns by value, largest first, and the
 * rest to the optimizer's own local search. */
#include "lab/bench/reference_private.h"

#include "base/clock.h"
#include "base/mem.h"
#include "lab/solver/finish_plan.h"
#include "lab/solver/solver_search.h"

#include <math.h>
#include <stdlib.h>

#define COLUMNS_A_JOB 2
#define MAX_ROUNDS    500
#define TOLERANCE     1e-5

struct priced {
    double reduced;
    int type, i, j;
};

struct pricing {
    struct priced *best; /* (jobs, COLUMNS_A_JOB) most negative */
    double *over;        /* (jobs) worst violation a job takes part in, pairs halved */
};

static void keep(struct pricing *x, int job, struct priced c)
{
    struct priced *b = &x->best[job * COLUMNS_A_JOB];
    int worst = 0;

    for (int q = 1; q < COLUMNS_A_JOB; q++)
        if (b[q].reduced > b[worst].reduced)
            worst = q;
    if (c.reduced < b[worst].reduced)
        b[worst] = c;
}

static void offer(struct pricing *x, struct priced c)
{
    double over = c.j < 0 ? -c.reduced : -c.reduced / 2;

    if (c.reduced > -1e-5)
        return;
    keep(x, c.i, c);
    x->over[c.i] = fmax(x->over[c.i], over);
    if (c.j >= 0)
        x->over[c.j] = fmax(x->over[c.j], over);
}

static void price_all(const struct reference *r, const double *dual, struct pricing *x)
{
    const struct work *w = &r->w;
    const double *pi = dual + w->types;

    for (int i = 0; i < w->tasks; i++) {
        x->over[i] = 0;
        for (int q = 0; q < COLUMNS_A_JOB; q++)
            x->best[i * COLUMNS_A_JOB + q] = (struct priced){-1e-5, -1, -1, -1};
    }
    for (int t = 0; t < w->types; t++)
        for (int i = 0; i < w->tasks; i++) {
            double base = -dual[t] - pi[i];

            offer(x, (struct priced){(double)work_alone(w, t, i, NULL) + base, t, i, -1});
            for (int j = i + 1; j < w->tasks; j++)
                offer(x,
                      (struct priced){(double)work_pair(w, t, i, j, NULL) + base - pi[j],
                                      t, i, j});
        }
}

/* Duals made feasible by taking each job's worst violation off it: always a bound. */
static double repaired_bound(const struct reference *r, const double *dual,
                             const struct pricing *x)
{
    const struct work *w = &r->w;
    double bound = 0;

    for (int t = 0; t < w->types; t++)
        bound += w->devices[t] * fmin(dual[t], 0);
    for (int i = 0; i < w->tasks; i++)
        bound += fmin(dual[w->types + i] - x->over[i], (double)w->penalty[i]);
    return bound;
}

static int add_priced(struct reference *r, const struct pricing *x)
{
    int added = 0;

    for (int q = 0; q < r->w.tasks * COLUMNS_A_JOB; q++)
        if (x->best[q].type >= 0) {
            reference_strong_column(r, x->best[q].type, x->best[q].i, x->best[q].j);
            added++;
        }
    return added;
}

static void generate(struct reference *r)
{
    struct pricing x = {mem_array(struct priced, (size_t)r->w.tasks * COLUMNS_A_JOB + 1),
                        mem_array(double, (size_t)r->w.tasks + 1)};
    double started = clock_cpu_s(), bound = -INFINITY;

    for (int round = 0; round < MAX_ROUNDS; round++) {
        const double *dual;

        if (!lp_solve(r->lp, LP_DUAL, 0))
            break;
        dual = lp_duals(r->lp);
        price_all(r, dual, &x);
        bound = fmax(bound, repaired_bound(r, dual, &x));
        if (lp_objective(r->lp) - bound <= TOLERANCE * fabs(bound)) {
            r->result->proven = true;
            break;
        }
        if (clock_cpu_s() - started > r->limit_s || add_priced(r, &x) == 0)
            break;
    }
    r->result->bound = bound;
    free(x.best);
    free(x.over);
}

struct ordered {
    double value;
    int column;
};

static int largest_first(const void *a, const void *b)
{
    const struct ordered *x = a, *y = b;

    if (x->value != y->value)
        return x->value > y->value ? -1 : 1;
    return x->column < y->column ? -1 : x->column > y->column;
}

static void round_up(struct reference *r)
{
    const double *values = lp_values(r->lp);
    int loaded = lp_columns(r->lp);
    struct ordered *order = mem_array(struct ordered, (size_t)loaded + 1);
    struct search s;
    size_t count = 0;

    search_init(&s, &r->w, NULL, 5);
    for (int c = 0; c < loaded; c++)
        if (r->columns[c].type >= 0 && values[c] > 0.3)
            order[count++] = (struct ordered){values[c], c};
    qsort(order, count, sizeof(*order), largest_first);
    for (size_t q = 0; q < count; q++) {
        const struct reference_column *c = &r->columns[order[q].column];
        int i = c->jobs[0], j = c->jobs[1];

        if (s.place[i] < 0 && (j < 0 || s.place[j] < 0) && search_room(&s, c->type))
            search_put(&s, c->type, i, j);
    }
    for (int i = 0; i < r->w.tasks; i++)
        if (s.place[i] < 0)
            search_park(&s, i);
    search_unpark(&s);
    for (int pass = 0; pass < 10 && search_pass(&s) > 0; pass++)
        ;
    finish_devices(&s, r->out);
    finish_figures(r->p, r->out);
    r->result->has_plan = true;
    r->result->objective = r->out->cost;
    free(order);
}

void reference_colgen(struct reference *r)
{
    reference_strong_rows(r);
    for (int t = 0; t < r->w.types; t++)
        for (int i = 0; i < r->w.tasks; i++)
            reference_strong_column(r, t, i, -1);
    generate(r);
    round_up(r);
}
