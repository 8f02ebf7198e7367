/* exact.c - see exact.h */
#include "loop/optimize/exact.h"

#include "loop/optimize/chains.h"
#include "loop/optimize/master.h"
#include "loop/optimize/polish.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROOT_ITERATIONS 4000
#define LAST_EFFORT     300000

struct exact {
    struct search *s;
    struct master m;
    struct search other; /* scratch of the same size */
    struct polish_hints hints;
};

/* What a plan has to beat to be worth having. */
static double goal(const struct exact *e)
{
    return e->s->cost - EXACT_TOLERANCE * fabs(e->s->cost);
}

static bool near_enough(const struct exact *e)
{
    return e->m.bound >= goal(e);
}

/* A placement from values of the columns, largest first, what is left improved by search;
 * replaces the one at hand when it is cheaper, hosts included. */
static void adopt(struct exact *e, const double *values, int loaded)
{
    struct search *s = e->s, *next = &e->other, swap;

    search_clear(next);
    next->rng = s->rng;
    next->evaluations = s->evaluations;
    for (double least = 0.9; least > 0.2; least -= 0.3)
        for (int c = 0; c < loaded; c++) {
            const struct master_column *col = &e->m.columns[c];

            if (values[c] >= least && col->type >= 0 && next->place[col->task[0]] < 0 &&
                (col->task[1] < 0 || next->place[col->task[1]] < 0) &&
                search_room(next, col->type))
                search_put(next, col->type, col->task[0], col->task[1]);
        }
    for (int i = 0; i < s->w->tasks; i++)
        if (next->place[i] < 0)
            search_park(next, i);
    search_unpark(next);
    if (next->cost < s->cost * (s->cost > 0 ? 1.02 : 0.98))
        search_all_pairs(next);
    if (next->cost >= s->cost)
        return;
    swap = *s;
    *s = *next;
    *next = swap;
}

struct ranked {
    double reduced;
    int column;
};

static int least_first(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;

    if (x->reduced != y->reduced)
        return x->reduced < y->reduced ? -1 : 1;
    return x->column < y->column ? -1 : x->column > y->column;
}

/* Partners of least reduced cost of each task, for the polish to follow. */
static void list_partners(struct exact *e)
{
    const struct work *w = e->s->w;
    struct polish_hints *hints = &e->hints;
    struct ranked *order;
    size_t mark, count = 0;

    hints->partners = arena_array(w->arena, int, w->tasks *POLISH_PARTNERS);
    hints->count = arena_array(w->arena, int, w->tasks + 1);
    memset(hints->count, 0, (size_t)w->tasks * sizeof(int));
    mark = arena_mark(w->arena);
    order = arena_array(w->arena, struct ranked, e->m.count + 1);
    for (int c = 0; c < e->m.count; c++) {
        const struct master_column *col = &e->m.columns[c];

        if (col->type >= 0 && col->task[1] >= 0)
            order[count++] = (struct ranked){
                master_reduced(&e->m, col->type, col->task[0], col->task[1]), c};
    }
    qsort(order, count, sizeof(*order), least_first);
    for (size_t x = 0; x < count; x++) {
        const int *task = e->m.columns[order[x].column].task;

        for (int side = 0; side < 2; side++)
            if (hints->count[task[side]] < POLISH_PARTNERS)
                hints->partners[task[side] * POLISH_PARTNERS +
                                hints->count[task[side]]++] = task[!side];
    }
    arena_release(w->arena, mark);
}

void exact_run(struct search *s, struct lp *lp, const double *proven, double *bound)
{
    struct work *w = s->w;
    static const struct chains_effort efforts[] = {{6, 1500, 100000}, {8, 20000, 300000}};
    struct exact e = {.s = s};
    struct chains_lists lists;
    int loaded;

    *bound = -INFINITY;
    if (w->tasks == 0)
        return;
    master_init(&e.m, w, lp, proven, s);
    search_init(&e.other, w, s->stairs, 1);
    if (!master_solve(&e.m, goal(&e), ROOT_ITERATIONS))
        return;
    *bound = e.m.bound;

    if (near_enough(&e))
        return;
    loaded = lp_columns(lp);
    if (e.m.plain > -INFINITY) {
        memcpy(w->price, e.m.best_price, (size_t)w->types * sizeof(double));
        s->worth = e.other.worth = e.m.best_worth;
    }
    adopt(&e, lp_values(lp), loaded);

    if (near_enough(&e))
        return;
    list_partners(&e);
    chains_list(&lists, s, s->cost - e.m.plain);
    for (int x = 0; x < 2; x++) {
        chains_run(s, &lists, &efforts[x]);

        if (near_enough(&e))
            return;
    }
    if (*bound < goal(&e))
        polish_run(s, &e.hints, &lists, LAST_EFFORT,
                   *bound + EXACT_TOLERANCE * fabs(*bound));
}
