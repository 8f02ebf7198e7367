/* exact.c - small problems by their LP: solve.c calls it with a placement and gets a
 * better one, with the worth of each task */
#include "lab/solver/exact.h"

#include "lab/solver/chains.h"
#include "lab/solver/master.h"
#include "lab/solver/polish.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROOT_ITERATIONS 4000
/* Steps of chains that a case may take in all; an iteration of the LP counts for some.
 * However hard the case, its time has an end. */
#define EFFORT       900000
#define AN_ITERATION 1000
#define LEAST_EFFORT 300000  /* that is left for chains and the polish in any case */
#define POLISH_STEPS 1500000 /* with one type; dearer with more */
/* One start is not enough: the first gets a part of the steps, each of the others
 * another, until so many have ended where the best did. */
#define FIRST_PART  0.3
#define MORE_PART   0.1
#define AGREED      3
#define BRIEF       30000 /* steps of chains before the polish of another start */
#define SAME        1e-7  /* of the cost */
#define CHAINS_PART 0.4   /* of what is left that one kind of chains may take */
#define SHAKE       0.9   /* how much less than its value a column may be taken for */

struct exact {
    struct search *s;
    struct master m;
    struct search other; /* scratch of the same size */
    struct polish_hints hints;
    double scale;         /* watts that parts of the cost are counted by */
    const double *values; /* of the LP's columns */
    int loaded;           /* columns */
};

/* A placement from values of the columns, largest first, the rest wherever it costs
 * least.  shake: values are lowered at random by up to this part. */
static void round_values(struct exact *e, double shake)
{
    struct search *s = e->s, *next = &e->other;

    search_clear(next);
    next->rng = s->rng;
    next->evaluations = s->evaluations;
    for (double least = 0.9; least > 0.2; least -= 0.3)
        for (int c = 0; c < e->loaded; c++) {
            const struct master_column *col = &e->m.columns[c];
            double lower = shake > 0 ? shake * rng_uniform(&s->rng) : 0;

            if ((1 - lower) * e->values[c] >= least && col->type >= 0 &&
                next->place[col->task[0]] < 0 &&
                (col->task[1] < 0 || next->place[col->task[1]] < 0) &&
                search_room(next, col->type))
                search_put(next, col->type, col->task[0], col->task[1]);
        }
    for (int i = 0; i < s->w->tasks; i++)
        if (next->place[i] < 0)
            search_park(next, i);
    search_unpark(next);
}

/* The other placement becomes the one at hand if it is cheaper, hosts included. */
static void adopt(struct exact *e)
{
    struct search swap = *e->s;

    if (e->other.cost >= e->s->cost)
        return;
    *e->s = e->other;
    e->other = swap;
}

struct ranked_place {
    double reduced;
    int column;
};

static int least_first(const void *a, const void *b)
{
    const struct ranked_place *x = a, *y = b;

    if (x->reduced != y->reduced)
        return x->reduced < y->reduced ? -1 : 1;
    return x->column < y->column ? -1 : x->column > y->column;
}

/* Partners of least reduced cost of each task, for the polish to follow. */
static void list_partners(struct exact *e)
{
    const struct work *w = e->s->w;
    struct polish_hints *hints = &e->hints;
    struct ranked_place *order;
    size_t mark, count = 0;

    hints->partners = arena_array(w->arena, int, w->tasks *POLISH_PARTNERS);
    hints->count = arena_array(w->arena, int, w->tasks + 1);
    memset(hints->count, 0, (size_t)w->tasks * sizeof(int));
    mark = arena_mark(w->arena);
    order = arena_array(w->arena, struct ranked_place, e->m.count + 1);
    for (int c = 0; c < e->m.count; c++) {
        const struct master_column *col = &e->m.columns[c];

        if (col->type >= 0 && col->task[1] >= 0)
            order[count++] = (struct ranked_place){
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

/* Watts that a placement draws, and the harm of what has no place: what parts of the
 * cost are counted by, which itself may be near nothing where progress is priced. */
static double scale_of(const struct search *s)
{
    const struct work *w = s->w;
    double watts = 0;

    for (int r = 0; r < s->count; r++) {
        const struct search_record *rec = &s->records[r];
        int variant = 0;

        if (rec->type == SEARCH_PARKED)
            watts += (double)w->penalty[rec->task[0]];
        if (rec->type < 0)
            continue;
        watts += w->open[rec->type];
        if (rec->task[1] < 0) {
            work_alone(w, rec->type, rec->task[0], &variant);
            watts += w->p->alone_watts[(size_t)variant * (size_t)w->classes +
                                       (size_t)w->cls[rec->task[0]]];
        } else {
            work_pair(w, rec->type, rec->task[0], rec->task[1], &variant);
            watts += w->p->pair_watts[problem_cell(w->p, variant, w->cls[rec->task[0]],
                                                   w->cls[rec->task[1]])];
        }
    }
    return fmax(watts, fabs(s->cost));
}

static bool proven_within(const struct exact *e, double part)
{
    return e->m.bound >= e->s->cost - part * e->scale;
}

static const struct chains_effort quick = {.broken = 6, .a_start = 1500, .steps = 60000};
static const struct chains_effort brief = {.broken = 6, .a_start = 1500, .steps = BRIEF};
static const struct chains_effort deep = {.broken = 8, .a_start = 15000, .steps = 100000};
static const struct chains_effort far_ones = {
    .broken = 6, .a_start = 4000, .steps = 200000, .allow = 5, .paths = true};

/* Tear open and put together again, from several starts: these end in different places
 * where it is hard, and in the same one where there is nothing left to find. */
static void polish(struct exact *e, const struct chains_lists *lists, long most)
{
    const struct work *w = e->s->w;
    double steps = fmin(POLISH_STEPS / (double)w->types, (double)most);
    double enough = e->m.bound + EXACT_TOLERANCE * fabs(e->m.bound);
    double spent =
        (double)polish_run(e->s, &e->hints, lists, (long)(FIRST_PART * steps), enough);

    for (int agreed = 0; spent < steps && agreed < AGREED;) {
        if (proven_within(e, EXACT_ENOUGH))
            return;
        round_values(e, SHAKE);
        spent += (double)chains_run(&e->other, lists, &brief);
        spent += (double)polish_run(&e->other, &e->hints, lists,
                                    (long)(MORE_PART * steps), enough);
        if (fabs(e->other.cost - e->s->cost) < SAME * e->scale)
            agreed++;
        else if (e->other.cost < e->s->cost)
            agreed = 0;
        adopt(e);
    }
}

/* Chains first, deeper ones where these are not enough, tearing open where that is not.
 */
static void improve(struct exact *e)
{
    static const struct chains_effort *const efforts[] = {&quick, &far_ones, &deep};
    struct search *s = e->s;
    struct chains_lists lists;
    long left = EFFORT - AN_ITERATION * lp_iterations(e->m.lp);

    if (left < LEAST_EFFORT)
        left = LEAST_EFFORT;
    chains_list(&lists, s, s->cost - e->m.plain);
    for (int x = 0; x < 3; x++) {
        struct chains_effort effort = *efforts[x];

        effort.steps = (long)fmin((double)effort.steps, CHAINS_PART * (double)left);
        left -= chains_run(s, &lists, &effort);
        if (proven_within(e, EXACT_TOLERANCE))
            return;
    }
    if (proven_within(e, EXACT_ENOUGH))
        return;
    list_partners(e);
    polish(e, &lists, left);
}

void exact_run(struct search *s, struct lp *lp, const double *worth, double *bound)
{
    struct work *w = s->w;
    struct exact e = {.s = s};

    *bound = -INFINITY;
    if (w->tasks == 0)
        return;
    master_init(&e.m, w, lp, worth, s);
    search_init(&e.other, w, s->stairs, 1);
    e.scale = scale_of(s);
    if (!master_solve(&e.m, s->cost - EXACT_TOLERANCE * e.scale, ROOT_ITERATIONS))
        return;
    *bound = e.m.bound;
    if (e.m.plain > -INFINITY) {
        memcpy(w->price, e.m.best_price, (size_t)w->types * sizeof(double));
        s->worth = e.other.worth = e.m.best_worth;
    }
    if (proven_within(&e, EXACT_TOLERANCE))
        return;
    e.values = lp_values(lp);
    e.loaded = lp_columns(lp);
    round_values(&e, 0);
    adopt(&e);
    e.scale = scale_of(s);
    if (!proven_within(&e, EXACT_TOLERANCE))
        improve(&e);
}
