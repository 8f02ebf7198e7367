/* exact.c - see exact.h */
#include "loop/optimize/exact.h"

#include "loop/optimize/polish.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS_A_TASK 16 /* of least reduced cost, in the first LP */
#define KEPT_A_TASK    6  /* when branching */
#define POLISH_EFFORT  20000
#define MAX_WORK       8000

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
    double best;         /* cost of the best plan on types so far */
    struct search other; /* scratch of the same size */
    double *worth;       /* (tasks) duals of the first LP */
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

/* The fractional column of the LP nearest to one; -1: all are whole. */
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

/* A placement from values of the columns, largest first, what is left improved by search;
 * replaces the one at hand when it is cheaper, hosts included. */
static void adopt(struct exact *e, const double *values)
{
    struct search *s = e->s, *next = &e->other, swap;

    search_clear(next);
    next->rng = s->rng;
    next->evaluations = s->evaluations;
    for (double least = 0.9; least > 0.2; least -= 0.3)
        for (int c = 0; c < e->count; c++) {
            const struct column *col = &e->columns[c];

            if (values[c] >= least && next->place[col->task[0]] < 0 &&
                (col->task[1] < 0 || next->place[col->task[1]] < 0) &&
                search_room(next, col->type))
                search_put(next, col->type, col->task[0], col->task[1]);
        }
    for (int i = 0; i < s->w->tasks; i++)
        if (next->place[i] < 0)
            search_park(next, i);
    search_unpark(next);
    search_all_pairs(next);
    if (next->cost >= s->cost)
        return;
    swap = *s;
    *s = *next;
    *next = swap;
    e->best = fmin(e->best, type_cost(s));
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
    adopt(e, values);
    if (c < 0)
        return;
    for (int side = 1; side >= 0; side--) {
        lp_bound_column(e->lp, c, side, side);
        branch(e);
    }
    lp_bound_column(e->lp, c, 0, 1);
}

/* Reduced costs at the duals of the LP just solved, which are sharper than the first. */
static void price_again(struct exact *e)
{
    struct work *w = e->s->w;
    const double *dual = lp_duals(e->lp);

    for (int c = 0; c < e->count; c++) {
        struct column *col = &e->columns[c];

        col->reduced =
            (double)col->cost - dual[col->type] - dual[w->types + col->task[0]];
        if (col->task[1] >= 0)
            col->reduced -= dual[w->types + col->task[1]];
    }
    for (int t = 0; t < w->types; t++)
        w->price[t] = fmax(-dual[t], 0);
    for (int i = 0; i < w->tasks; i++)
        e->worth[i] = dual[w->types + i];
    e->s->worth = e->other.worth = e->worth;
}

/* Partners of least reduced cost of each task, for the polish to follow. */
static void list_partners(struct exact *e, struct polish_hints *hints)
{
    const struct work *w = e->s->w;

    hints->partners = arena_array(w->arena, int, w->tasks *POLISH_PARTNERS);
    hints->count = arena_array(w->arena, int, w->tasks + 1);
    memset(hints->count, 0, (size_t)w->tasks * sizeof(int));
    for (int c = 0; c < e->count; c++) {
        const int *task = e->columns[c].task;

        for (int x = 0; x < 2 && task[1] >= 0; x++)
            if (hints->count[task[x]] < POLISH_PARTNERS)
                hints->partners[task[x] * POLISH_PARTNERS + hints->count[task[x]]++] =
                    task[!x];
    }
}

/* Keep what could be part of a better plan than the one at hand. */
static void reduce_columns(struct exact *e)
{
    double slack = e->best - lp_objective(e->lp);
    int kept = 0, most = KEPT_A_TASK * e->s->w->tasks;

    while (kept < e->count && kept < most && e->columns[kept].reduced <= slack)
        kept++;
    e->count = kept;
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

void exact_run(struct search *s, struct lp *lp, const double *proven, double *bound)
{
    struct work *w = s->w;
    struct exact e = {.s = s, .lp = lp, .best = type_cost(s)};
    size_t most = (size_t)w->types * (size_t)w->tasks * ((size_t)w->tasks + 1) / 2;
    double first = dual_bound(w, proven);
    double more =
        fmin(fmax(100.0 / (w->tasks + 1), 1), 1.5); /* the smaller the cheaper */
    struct polish_hints hints;
    bool complete;

    *bound = -INFINITY;
    if (e.best - first <= EXACT_TOLERANCE * fabs(e.best))
        return;
    e.columns = arena_array(w->arena, struct column, most + 1);
    e.worth = arena_array(w->arena, double, w->tasks + 1);
    search_init(&e.other, w, s->stairs, 1);
    complete = choose_columns(&e, proven, e.best - first);
    load_lp(&e);
    if (!lp_solve(lp, LP_DUAL, 0))
        return;
    *bound = complete ? lp_objective(lp) : -INFINITY;
    price_again(&e);
    adopt(&e, lp_values(lp));
    qsort(e.columns, (size_t)e.count, sizeof(*e.columns), by_reduced);
    list_partners(&e, &hints);
    polish_run(s, (long)(POLISH_EFFORT * more), &hints);
    e.best = fmin(e.best, type_cost(s));
    reduce_columns(&e);
    load_lp(&e);
    e.max_nodes = (int)(MAX_WORK * more) / (e.count + 1);
    branch(&e);
    polish_run(s, (long)(POLISH_EFFORT * more), &hints);
}
