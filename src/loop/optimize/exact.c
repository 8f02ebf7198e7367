/* exact.c - see exact.h */
#include "loop/optimize/exact.h"

#include <math.h>
#include <stdlib.h>

#define COLUMNS_A_TASK 16    /* of least reduced cost, in the first LP */
#define MAX_WORK       12000 /* columns x LPs solved when branching */

struct column {
    double reduced;
    float cost;
    int type;
    int task[2];
};

struct exact {
    struct search *s;
    struct lp *lp;
    struct column *columns;
    int count;
    double best;    /* cost of the best plan on types so far */
    double *chosen; /* (columns) values of it, when found here */
    bool found;
    int nodes, max_nodes;
};

static double type_cost(const struct search *s)
{
    double total = 0;

    for (int r = 0; r < s->count; r++)
        total += search_record_cost(s, &s->records[r]);
    return total;
}

static int by_reduced(const void *a, const void *b)
{
    const struct column *x = a, *y = b;

    if (x->reduced != y->reduced)
        return x->reduced < y->reduced ? -1 : 1;
    if (x->task[0] != y->task[0])
        return x->task[0] < y->task[0] ? -1 : 1;
    if (x->task[1] != y->task[1])
        return x->task[1] < y->task[1] ? -1 : 1;
    return x->type < y->type ? -1 : x->type > y->type;
}

static void consider(struct exact *e, float cost, int t, int i, int j, double worth,
                     double slack)
{
    double reduced = (double)cost + e->s->w->price[t] - worth;

    if (cost < WORK_NEVER && reduced <= slack)
        e->columns[e->count++] = (struct column){reduced, cost, t, {i, j}};
}

static bool keep_least(struct exact *e, int most)
{
    qsort(e->columns, (size_t)e->count, sizeof(*e->columns), by_reduced);
    if (e->count <= most)
        return true;
    e->count = most;
    return false;
}

/* All columns whose reduced cost fits between bound and best plan; false when there were
 * more than can be kept, so nothing is proven. */
static bool choose_columns(struct exact *e, const double *proven, double slack)
{
    const struct work *w = e->s->w;

    for (int t = 0; t < w->types; t++)
        for (int i = 0; i < w->tasks; i++) {
            consider(e, work_alone(w, t, i, NULL), t, i, -1, proven[i], slack);
            for (int j = i + 1; j < w->tasks; j++)
                consider(e, work_pair(w, t, i, j, NULL), t, i, j, proven[i] + proven[j],
                         slack);
        }
    return keep_least(e, COLUMNS_A_TASK * w->tasks);
}

static void load_lp(struct exact *e)
{
    const struct work *w = e->s->w;
    double ones[3] = {1, 1, 1};

    lp_clear(e->lp);
    for (int t = 0; t < w->types; t++)
        lp_row(e->lp, -LP_INFINITY, w->devices[t]);
    for (int i = 0; i < w->tasks; i++)
        lp_row(e->lp, 1, 1);
    for (int c = 0; c < e->count; c++) {
        const struct column *col = &e->columns[c];
        int rows[3] = {col->type, w->types + col->task[0], w->types + col->task[1]};

        lp_column(e->lp, (double)col->cost, 0, 1, col->task[1] < 0 ? 2 : 3, rows, ones);
    }
    for (int i = 0; i < w->tasks; i++) {
        int row = w->types + i;

        lp_column(e->lp, (double)w->penalty[i], 0, 1, 1, &row, ones);
    }
}

/* The fractional column nearest to one; -1: all are whole. */
static int fractional(const struct exact *e, const double *values)
{
    int best = -1;
    double most = 1e-6;

    for (int c = 0; c < e->count; c++)
        if (values[c] > most && values[c] < 1 - 1e-6) {
            most = values[c];
            best = c;
        }
    return best;
}

static void branch(struct exact *e)
{
    const double *values;
    double cost;
    int c;

    if (++e->nodes > e->max_nodes || !lp_solve(e->lp, LP_DUAL, 0))
        return;
    cost = lp_objective(e->lp);
    if (cost >= e->best - EXACT_TOLERANCE * fabs(e->best))
        return;
    values = lp_values(e->lp);
    c = fractional(e, values);
    if (c < 0) {
        e->best = cost;
        e->found = true;
        for (int x = 0; x < e->count; x++)
            e->chosen[x] = values[x];
        return;
    }
    for (int side = 1; side >= 0; side--) {
        lp_bound_column(e->lp, c, side, side);
        branch(e);
    }
    lp_bound_column(e->lp, c, 0, 1);
}

/* A placement from values of the columns, largest first, what is left improved by search;
 * replaces the one at hand when it is cheaper, hosts included. */
static void adopt(struct exact *e, const double *values)
{
    struct search *s = e->s, next;

    search_init(&next, s->w, s->stairs, 1);
    next.rng = s->rng;
    next.worth = s->worth;
    next.evaluations = s->evaluations;
    for (double least = 0.9; least > 0.2; least -= 0.3)
        for (int c = 0; c < e->count; c++) {
            const struct column *col = &e->columns[c];

            if (values[c] >= least && next.place[col->task[0]] < 0 &&
                (col->task[1] < 0 || next.place[col->task[1]] < 0) &&
                search_room(&next, col->type))
                search_put(&next, col->type, col->task[0], col->task[1]);
        }
    for (int i = 0; i < s->w->tasks; i++)
        if (next.place[i] < 0)
            search_park(&next, i);
    search_unpark(&next);
    search_all_pairs(&next);
    if (next.cost < s->cost)
        *s = next;
    e->best = fmin(e->best, type_cost(s));
}

/* With the duals of the first LP many more columns are seen to be of no use. */
static bool reduce_columns(struct exact *e)
{
    const struct work *w = e->s->w;
    const double *dual = lp_duals(e->lp);
    double slack = e->best - lp_objective(e->lp);
    int kept = 0;

    for (int c = 0; c < e->count; c++) {
        struct column col = e->columns[c];

        col.reduced = (double)col.cost - dual[col.type] - dual[w->types + col.task[0]];
        if (col.task[1] >= 0)
            col.reduced -= dual[w->types + col.task[1]];
        if (col.reduced <= slack)
            e->columns[kept++] = col;
    }
    e->count = kept;
    return keep_least(e, 6 * w->tasks);
}

static double dual_bound(const struct work *w, const double *proven)
{
    double bound = 0;

    for (int i = 0; i < w->tasks; i++)
        bound += proven[i];
    for (int t = 0; t < w->types; t++)
        bound -= w->price[t] * w->devices[t];
    return bound;
}

bool exact_run(struct search *s, struct lp *lp, const double *proven)
{
    struct work *w = s->w;
    struct exact e = {.s = s, .lp = lp, .best = type_cost(s)};
    size_t most = (size_t)w->types * (size_t)w->tasks * ((size_t)w->tasks + 1) / 2;
    double bound = dual_bound(w, proven);
    bool complete;

    if (e.best - bound <= EXACT_TOLERANCE * fabs(e.best))
        return true;
    e.columns = arena_array(w->arena, struct column, most + 1);
    complete = choose_columns(&e, proven, e.best - bound);
    e.chosen = arena_array(w->arena, double, e.count + 1);
    load_lp(&e);
    if (!lp_solve(lp, LP_DUAL, 0))
        return false;
    adopt(&e, lp_values(lp));
    complete = reduce_columns(&e) && complete;
    load_lp(&e);
    e.max_nodes = MAX_WORK / (e.count + 1);
    branch(&e);
    if (e.found)
        adopt(&e, e.chosen);
    return complete && e.nodes <= e.max_nodes;
}
