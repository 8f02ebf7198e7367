/* polish.c - small placements torn open and closed again: exact.c calls it with the
 * LP's worths */
#include "lab/solver/polish.h"

#include <math.h>
#include <string.h>

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

long polish_run(struct search *s, const struct polish_hints *hints,
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
