/* cycles.c - improvements of a matching round a circle: matching.c calls it when its
 * auction ends */
#include "lab/solver/cycles.h"

#include <stdlib.h>
#include <string.h>

/* Odd cycles are compared with this many neighbours: all with all would be quadratic. */
#define JOIN_WINDOW 96

#define MAX_OPTIONS 5

struct odd {
    int first, count; /* in cycles.tasks */
    int left;         /* position in the cycle of the task left over */
    int options;
    int option[MAX_OPTIONS]; /* positions that cost least to leave over */
    float cost;              /* when that one stays alone */
    bool joined;
};

struct cycles {
    struct graph *g;
    int *tasks;  /* members of all odd cycles, one after the other */
    float *edge; /* cost of the pair (member, next member) */
    float *rest; /* cost of all pairs when this member is left over */
    struct odd *odds;
    int used, odd_count;
};

struct join {
    float saving;
    int a, b; /* odd cycles */
    int x, y; /* positions left over in them */
    float cost;
};

static void pair_up(struct graph *g, int a, int b, float cost)
{
    g->mate[a] = b;
    g->mate[b] = a;
    g->cost[a] = g->cost[b] = cost;
}

static void leave_alone(struct graph *g, int i)
{
    g->mate[i] = -1;
    g->cost[i] = g->alone[i];
}

/* A pair no type can hold falls apart: both alone. */
static void settle_pair(struct graph *g, int a, int b, float cost)
{
    if (cost < WORK_NEVER) {
        pair_up(g, a, b, cost);
    } else {
        leave_alone(g, a);
        leave_alone(g, b);
    }
}

static void split_even(struct graph *g, const int *c, const float *edge, int n)
{
    double even = 0, odd = 0;
    int start;

    for (int t = 0; t < n; t += 2) {
        even += (double)edge[t];
        odd += (double)edge[t + 1];
    }
    start = n > 2 && odd < even;
    for (int t = 0; t < n; t += 2)
        settle_pair(g, c[(start + t) % n], c[(start + t + 1) % n], edge[(start + t) % n]);
}

/* Insert position z among the options of the cycle, cheapest first. */
static void add_option(const struct cycles *s, struct odd *o, int z)
{
    int at = o->options < MAX_OPTIONS ? o->options++ : MAX_OPTIONS;

    while (at > 0 && s->rest[o->first + o->option[at - 1]] > s->rest[o->first + z]) {
        if (at < MAX_OPTIONS)
            o->option[at] = o->option[at - 1];
        at--;
    }
    if (at < MAX_OPTIONS)
        o->option[at] = z;
}

static void keep_odd(struct cycles *s, int n)
{
    struct odd *o = &s->odds[s->odd_count++];
    const float *edge = s->edge + s->used;
    double rest = 0;

    *o = (struct odd){.first = s->used, .count = n, .cost = WORK_NEVER * 4};
    for (int t = 1; t < n; t += 2)
        rest += (double)edge[t];
    /* Two further on, one pair goes and another comes: n such steps visit everybody. */
    for (int step = 0, z = 0; step < n; step++, z = (z + 2) % n) {
        double total = rest + (double)s->g->alone[s->tasks[s->used + z]];

        s->rest[s->used + z] = (float)rest;
        if (total < (double)o->cost) {
            o->cost = (float)total;
            o->left = z;
        }
        add_option(s, o, z);
        rest += (double)edge[z] - (double)edge[(z + 1) % n];
    }
    s->used += n;
}

static void walk(struct cycles *s, const int *next, bool *seen)
{
    struct graph *g = s->g;

    for (int i = 0; i < g->tasks; i++) {
        int *c = s->tasks + s->used;
        int n = 0;

        if (seen[i])
            continue;
        for (int x = i; !seen[x]; x = next[x]) {
            seen[x] = true;
            c[n++] = x;
        }
        if (n == 1) {
            leave_alone(g, i);
            continue;
        }
        for (int t = 0; t < n; t++)
            s->edge[s->used + t] = graph_pair(g, c[t], c[(t + 1) % n], NULL);
        if (n % 2 == 0)
            split_even(g, c, s->edge + s->used, n);
        else
            keep_odd(s, n);
    }
}

static struct join best_join(const struct cycles *s, int a, int b)
{
    const struct odd *oa = &s->odds[a], *ob = &s->odds[b];
    struct join best = {0, a, b, -1, -1, 0};

    for (int p = 0; p < oa->options; p++) {
        for (int q = 0; q < ob->options; q++) {
            int x = oa->option[p], y = ob->option[q];
            int i = s->tasks[oa->first + x], j = s->tasks[ob->first + y];
            float most =
                oa->cost + ob->cost - s->rest[oa->first + x] - s->rest[ob->first + y];
            float cost;

            if (most - work_least(s->g->w, i, j) <= best.saving)
                continue; /* not even on the best type */
            cost = graph_pair(s->g, i, j, NULL);
            if (most - cost > best.saving) {
                best.saving = most - cost;
                best.x = x;
                best.y = y;
                best.cost = cost;
            }
        }
    }
    return best;
}

static int by_saving(const void *a, const void *b)
{
    const struct join *x = a, *y = b;

    if (x->saving != y->saving)
        return x->saving > y->saving ? -1 : 1;
    if (x->a != y->a)
        return x->a < y->a ? -1 : 1;
    return x->b < y->b ? -1 : x->b > y->b;
}

static void join_window(struct cycles *s, int from, int to)
{
    int n = to - from, count = 0;
    size_t mark = arena_mark(s->g->w->arena);
    struct join *joins = arena_array(s->g->w->arena, struct join, n * (n + 1) / 2 + 1);

    for (int a = from; a < to; a++)
        for (int b = a + 1; b < to; b++) {
            struct join j = best_join(s, a, b);

            if (j.x >= 0)
                joins[count++] = j;
        }
    qsort(joins, (size_t)count, sizeof(*joins), by_saving);
    for (int q = 0; q < count; q++) {
        struct odd *a = &s->odds[joins[q].a], *b = &s->odds[joins[q].b];

        if (a->joined || b->joined)
            continue;
        a->joined = b->joined = true;
        a->left = joins[q].x;
        b->left = joins[q].y;
        pair_up(s->g, s->tasks[a->first + a->left], s->tasks[b->first + b->left],
                joins[q].cost);
    }
    arena_release(s->g->w->arena, mark);
}

static void settle_odd(struct cycles *s, const struct odd *o)
{
    const int *c = s->tasks + o->first;

    if (!o->joined)
        leave_alone(s->g, c[o->left]);
    for (int t = 1; t < o->count; t += 2) {
        int at = (o->left + t) % o->count;

        settle_pair(s->g, c[at], c[(at + 1) % o->count], s->edge[o->first + at]);
    }
}

void cycles_to_pairs(struct graph *g, const int *next)
{
    struct arena *arena = g->w->arena;
    size_t mark = arena_mark(arena);
    struct cycles s = {.g = g};
    bool *seen = arena_array(arena, bool, g->tasks + 1);

    memset(seen, 0, (size_t)g->tasks * sizeof(bool));
    s.tasks = arena_array(arena, int, g->tasks + 1);
    s.edge = arena_array(arena, float, g->tasks + 1);
    s.rest = arena_array(arena, float, g->tasks + 1);
    s.odds = arena_array(arena, struct odd, g->tasks / 3 + 1);
    walk(&s, next, seen);
    for (int from = 0; from < s.odd_count; from += JOIN_WINDOW)
        join_window(&s, from,
                    from + JOIN_WINDOW < s.odd_count ? from + JOIN_WINDOW : s.odd_count);
    for (int o = 0; o < s.odd_count; o++)
        settle_odd(&s, &s.odds[o]);
    arena_release(arena, mark);
}
