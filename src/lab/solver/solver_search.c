/* solver_search.c - records and passes; the moves themselves are in moves.c.  See
 * solver_search.h */
#include "lab/solver/solver_search.h"

#include <assert.h>
#include <string.h>

#define MIN_SAVING      1e-4 /* watts; float cells are no finer */
#define MAX_CLASS_SCAN  64   /* more classes: sample tasks instead of going by class */
#define SAMPLED_TASKS   32
#define MAX_UNPARK_WORK 30000000L /* parked tasks x records looked at in one go */

void search_init(struct search *s, struct work *w, const struct stairs *stairs,
                 uint64_t seed)
{
    struct arena *arena = w->arena;
    int *at;

    *s = (struct search){.w = w, .room = 2 * w->room + 4};
    s->stairs = stairs && stairs->extra[0] ? stairs : NULL;
    s->records = arena_array(arena, struct search_record, s->room);
    s->spare = arena_array(arena, int, s->room);
    s->place = arena_array(arena, int, w->room);
    s->by_class = arena_array(arena, int, w->tasks + 1);
    s->class_start = arena_array(arena, int, w->classes + 1);
    rng_init(&s->rng, seed);
    for (int i = 0; i < w->room; i++)
        s->place[i] = -1;
    memset(s->class_start, 0, ((size_t)w->classes + 1) * sizeof(int));
    for (int i = 0; i < w->tasks; i++)
        s->class_start[w->cls[i] + 1]++;
    for (int k = 0; k < w->classes; k++)
        s->class_start[k + 1] += s->class_start[k];
    at = arena_array(arena, int, w->classes + 1);
    memcpy(at, s->class_start, ((size_t)w->classes + 1) * sizeof(int));
    for (int i = 0; i < w->tasks; i++)
        s->by_class[at[w->cls[i]]++] = i;
}

void search_clear(struct search *s)
{
    s->count = s->spares = 0;
    s->cost = 0;
    memset(s->used, 0, sizeof(s->used));
    for (int i = 0; i < s->w->room; i++)
        s->place[i] = -1;
}

bool search_room(const struct search *s, int type)
{
    return s->used[type] < s->w->devices[type];
}

static void add_record(struct search *s, int type, int i, int j)
{
    int r = s->spares ? s->spare[--s->spares] : s->count++;

    assert(r < s->room);
    s->records[r] = (struct search_record){type, {i, j}, 0};
    s->place[i] = r;
    if (j >= 0)
        s->place[j] = r;
    if (s->log_count + 2 <= SEARCH_LOG) {
        s->log[s->log_count++] = i;
        if (j >= 0)
            s->log[s->log_count++] = j;
    }
    s->records[r].cost = search_record_cost(s, &s->records[r]);
    s->cost += s->records[r].cost;
}

static double stair(const struct search *s, int type)
{
    return s->stairs ? s->stairs->extra[type][s->used[type]] : 0;
}

void search_put(struct search *s, int type, int i, int j)
{
    assert(type >= 0 && search_room(s, type));
    s->cost -= stair(s, type);
    s->used[type]++;
    s->cost += stair(s, type);
    add_record(s, type, i, j);
}

void search_park(struct search *s, int i)
{
    add_record(s, SEARCH_PARKED, i, -1);
}

void search_drop(struct search *s, int record)
{
    struct search_record *r = &s->records[record];

    assert(r->type != SEARCH_FREE);
    s->cost -= r->cost;
    if (r->type >= 0) {
        s->cost -= stair(s, r->type);
        s->used[r->type]--;
        s->cost += stair(s, r->type);
    }
    for (int e = 0; e < 2; e++)
        if (r->task[e] >= 0)
            s->place[r->task[e]] = -1;
    *r = (struct search_record){SEARCH_FREE, {-1, -1}, 0};
    s->spare[s->spares++] = record;
}

double search_record_cost(const struct search *s, const struct search_record *r)
{
    if (r->type == SEARCH_FREE)
        return 0;
    if (r->type == SEARCH_PARKED)
        return s->w->penalty[r->task[0]];
    if (r->task[1] < 0)
        return work_alone(s->w, r->type, r->task[0], NULL);
    return work_pair(s->w, r->type, r->task[0], r->task[1], NULL);
}

void search_apply(struct search *s, int r, int q, const struct search_move *m)
{
    const int *tasks[2] = {m->x, m->y};
    const int types[2] = {m->a, m->b};

    search_drop(s, r);
    if (q >= 0)
        search_drop(s, q);
    for (int side = 0; side < 2; side++) {
        if (tasks[side][0] < 0)
            continue;
        if (types[side] >= 0) {
            search_put(s, types[side], tasks[side][0], tasks[side][1]);
            continue;
        }
        search_park(s, tasks[side][0]);
        if (tasks[side][1] >= 0)
            search_park(s, tasks[side][1]);
    }
}

static bool try_move(struct search *s, int r, int q)
{
    struct search_move m;

    if (!search_evaluate(s, r, q, -MIN_SAVING, &m))
        return false;
    search_apply(s, r, q, &m);
    return true;
}

/* Best move of r against the records start, start + step, ... */
static bool best_against(struct search *s, int r, int start, int step)
{
    struct search_move best = {.delta = -MIN_SAVING};
    int with = -2;

    if (s->records[r].type == SEARCH_FREE)
        return false;
    if (search_evaluate(s, r, -1, best.delta, &best))
        with = -1;
    for (int q = start; q < s->count; q += step)
        if (q != r && s->records[q].type != SEARCH_FREE &&
            search_evaluate(s, r, q, best.delta, &best))
            with = q;
    if (with < -1)
        return false;
    search_apply(s, r, with, &best);
    return true;
}

bool search_best(struct search *s, int r)
{
    return best_against(s, r, 0, 1);
}

double search_excess(const struct search *s, int record)
{
    const struct search_record *r = &s->records[record];
    double excess = r->cost;

    if (r->type == SEARCH_FREE)
        return 0;
    if (r->type >= 0)
        excess += s->w->price[r->type];
    for (int e = 0; e < 2; e++)
        if (r->task[e] >= 0)
            excess -= s->worth ? s->worth[r->task[e]] : 0;
    return excess;
}

void search_unpark(struct search *s)
{
    long parked = 0, step = 1;

    for (int r = 0; r < s->count; r++)
        parked += s->records[r].type == SEARCH_PARKED;
    if (parked * s->count > MAX_UNPARK_WORK)
        step = 1 + parked * s->count / MAX_UNPARK_WORK;
    for (int i = 0; i < s->w->tasks; i++) {
        int r = s->place[i];

        if (r >= 0 && s->records[r].type == SEARCH_PARKED)
            best_against(s, r, (int)rng_below(&s->rng, (size_t)step), (int)step);
    }
}

static long against_task(struct search *s, int i, int other)
{
    if (s->place[other] < 0 || s->place[other] == s->place[i])
        return 0;
    return try_move(s, s->place[i], s->place[other]);
}

long search_pass(struct search *s)
{
    const struct work *w = s->w;
    long moves = 0;

    for (int i = 0; i < w->tasks; i++) {
        /* Of two records that could save together one has an excess: look from there. */
        if (s->place[i] < 0 ||
            (s->worth && !s->stairs && search_excess(s, s->place[i]) < SEARCH_MIN_EXCESS))
            continue;
        moves += try_move(s, s->place[i], -1);
        for (int q = 0; w->classes > MAX_CLASS_SCAN && q < SAMPLED_TASKS; q++)
            moves += against_task(s, i, (int)rng_below(&s->rng, (size_t)w->tasks));
        for (int k = 0; w->classes <= MAX_CLASS_SCAN && k < w->classes; k++) {
            int n = s->class_start[k + 1] - s->class_start[k];

            if (n > 0)
                moves += against_task(
                    s, i,
                    s->by_class[s->class_start[k] + (int)rng_below(&s->rng, (size_t)n)]);
        }
    }
    return moves;
}
