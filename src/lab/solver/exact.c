/* exact.c - small problems by their LP: solve.c calls it with a placement and gets a
 * better one, with the worth of each task */
#include "lab/solver/exact.h"

#include "lab/solver/chains.h"
#include "lab/solver/master.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- iterated local search for small cases ----------------------------------------- */

/* Under about a hundred tasks a single misplaced job shows in the gap.  A few devices are
 * torn open, their tasks put back in another order, chains (chains.h) repair what that
 * did, and what is no worse is kept. */

#define POLISH_PARTNERS 8

/* Partners worth trying, best first; devices torn open together are linked by these. */
struct polish_hints {
    int *partners; /* (tasks, POLISH_PARTNERS) */
    int *count;    /* (tasks) */
};

#define MAX_OPEN 40
#define PATIENCE 0.0015 /* of the cost */
#define A_LOOK   8      /* steps of chains that the evaluation of a move counts for */

struct snapshot {
    struct search_record *records;
    int *spare, *place;
    int count, spares;
    int used[PROBLEM_MAX_TYPES];
    double cost;
};

static void snapshot_init(struct snapshot *k, const struct search *s)
{
    struct arena *arena = s->w->arena;

    k->records = arena_array(arena, struct search_record, s->room);
    k->spare = arena_array(arena, int, s->room);
    k->place = arena_array(arena, int, s->w->room);
}

static void save(struct snapshot *k, const struct search *s)
{
    memcpy(k->records, s->records, (size_t)s->count * sizeof(*s->records));
    memcpy(k->spare, s->spare, (size_t)s->spares * sizeof(int));
    memcpy(k->place, s->place, (size_t)s->w->tasks * sizeof(int));
    memcpy(k->used, s->used, sizeof(s->used));
    k->count = s->count;
    k->spares = s->spares;
    k->cost = s->cost;
}

static void load(const struct snapshot *k, struct search *s)
{
    memcpy(s->records, k->records, (size_t)k->count * sizeof(*s->records));
    memcpy(s->spare, k->spare, (size_t)k->spares * sizeof(int));
    memcpy(s->place, k->place, (size_t)s->w->tasks * sizeof(int));
    memcpy(s->used, k->used, sizeof(s->used));
    s->count = k->count;
    s->spares = k->spares;
    s->cost = k->cost;
}

static void park_all(struct search *s, int r)
{
    struct search_record was = s->records[r];

    search_drop(s, r);
    for (int e = 0; e < 2; e++)
        if (was.task[e] >= 0)
            search_park(s, was.task[e]);
}

/* A task whose device costs more than it is worth, dearer ones more often; any at times.
 */
static int pick_task(struct search *s)
{
    double total = 0, at;
    int any = (int)rng_below(&s->rng, (size_t)s->w->tasks);

    if (rng_uniform(&s->rng) < 0.2)
        return any;
    for (int r = 0; r < s->count; r++)
        total += fmax(search_excess(s, r), 0);
    at = rng_uniform(&s->rng) * total;
    for (int r = 0; r < s->count; r++) {
        at -= fmax(search_excess(s, r), 0);
        if (at < 0 && s->records[r].type != SEARCH_FREE)
            return s->records[r].task[0];
    }
    return any;
}

/* Somebody it would go well with, the best more often. */
static int pick_partner(struct search *s, const struct polish_hints *hints, int i)
{
    double u = rng_uniform(&s->rng);

    if (hints->count[i] == 0)
        return (int)rng_below(&s->rng, (size_t)s->w->tasks);
    return hints->partners[i * POLISH_PARTNERS + (int)(u * u * hints->count[i])];
}

/* Park the tasks of a few devices, each linked to one before; returns the tasks, those
 * parked before included. */
static int tear_open(struct search *s, const struct polish_hints *hints, int *open)
{
    int devices = 2 + (int)rng_below(&s->rng, 4), count = 0;
    int i = pick_task(s);

    for (int d = 0; d < devices; d++) {
        int r = s->place[i], mate = i;

        if (r >= 0 && s->records[r].type >= 0) {
            mate = s->records[r].task[s->records[r].task[0] == i];
            park_all(s, r);
        }
        /* Go on from whoever has to make room. */
        if (mate < 0 || rng_uniform(&s->rng) < 0.3)
            mate = i;
        i = pick_partner(s, hints, mate);
    }
    for (int t = 0; t < s->w->tasks && count < MAX_OPEN; t++)
        if (s->place[t] >= 0 && s->records[s->place[t]].type == SEARCH_PARKED)
            open[count++] = t;
    return count;
}

static void shuffle(struct search *s, int *items, int count)
{
    for (int q = count - 1; q > 0; q--) {
        int other = (int)rng_below(&s->rng, (size_t)q + 1), swap = items[q];

        items[q] = items[other];
        items[other] = swap;
    }
}

static void put_back(struct search *s, const int *open, int count)
{
    bool moved = true;

    for (int round = 0; round < 4 && moved; round++) {
        moved = false;
        for (int q = 0; q < count; q++)
            moved = search_best(s, s->place[open[q]]) || moved;
    }
}

/* How much dearer than where it stands a placement may be and still be gone on from:
 * less and less towards the end. */
static double patience(double cost, long left, long all)
{
    double part = left > 0 ? (double)left / (double)all : 0;

    return PATIENCE * fabs(cost) * part * part;
}

/* Spends about this many steps of chains, fewer when the cost comes down to enough;
 * returns how many. */
static long polish_run(struct search *s, const struct polish_hints *hints,
                       const struct chains_lists *lists, long steps, double enough)
{
    static const struct chains_effort short_ones = {
        .broken = 6, .a_start = 1500, .steps = 10000};
    static const struct chains_effort long_ones = {
        .broken = 6, .a_start = 2000, .steps = 6000, .allow = 2, .paths = true};
    size_t mark = arena_mark(s->w->arena);
    struct snapshot best, now;
    int open[MAX_OPEN];
    long spent = 0;

    if (s->w->tasks == 0)
        return 0;
    snapshot_init(&best, s);
    snapshot_init(&now, s);
    save(&best, s);
    save(&now, s);
    while (spent < steps && best.cost > enough) {
        long before = s->evaluations;
        int count = tear_open(s, hints, open);

        shuffle(s, open, count);
        put_back(s, open, count);
        spent += 100 + A_LOOK * (s->evaluations - before);
        spent += chains_from(s, lists, open, count, &short_ones);
        spent += chains_from(s, lists, open, count, &long_ones);
        if (s->cost < best.cost - 1e-6)
            save(&best, s);
        if (s->cost < now.cost + 1e-6 + patience(now.cost, steps - spent, steps))
            save(&now, s);
        else
            load(&now, s);
    }
    load(&best, s);
    arena_release(s->w->arena, mark);
    return spent;
}

/* ---- the LP ------------------------------------------------------------------------ */

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
