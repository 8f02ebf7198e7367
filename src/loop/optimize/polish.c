/* polish.c - see polish.h */
#include "loop/optimize/polish.h"

#include <string.h>

#define MAX_OPEN 40

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

/* Park the tasks of a few devices; returns the tasks, those parked before included. */
static int tear_open(struct search *s, int *open)
{
    int devices = 2 + (int)rng_below(&s->rng, 6), count = 0;

    for (int d = 0; d < devices; d++) {
        int r = s->place[rng_below(&s->rng, (size_t)s->w->tasks)];
        struct search_record was;

        if (r < 0 || s->records[r].type < 0)
            continue;
        was = s->records[r];
        search_drop(s, r);
        for (int e = 0; e < 2; e++)
            if (was.task[e] >= 0)
                search_park(s, was.task[e]);
    }
    for (int i = 0; i < s->w->tasks && count < MAX_OPEN; i++)
        if (s->place[i] >= 0 && s->records[s->place[i]].type == SEARCH_PARKED)
            open[count++] = i;
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

void polish_run(struct search *s, long evaluations, double enough)
{
    size_t mark = arena_mark(s->w->arena);
    long end = s->evaluations + evaluations;
    struct snapshot best;
    int open[MAX_OPEN];

    if (s->w->tasks == 0)
        return;
    snapshot_init(&best, s);
    save(&best, s);
    while (s->evaluations < end && best.cost > enough) {
        int count = tear_open(s, open);

        shuffle(s, open, count);
        put_back(s, open, count);
        s->evaluations += 10; /* an end even when nothing can be torn open */
        if (s->cost < best.cost + 1e-6)
            save(&best, s);
        else
            load(&best, s);
    }
    load(&best, s);
    arena_release(s->w->arena, mark);
}
