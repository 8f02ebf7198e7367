/* candidates.c - see candidates.h
 *
 * The innermost loop runs over partners of one class side by side in memory: the cost of
 * a pair is the same for all of them, only thresholds differ, and the compiler turns it
 * into vector code. */
#include "loop/optimize/candidates.h"

#include "base/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One block, gathered: column y of the arrays is the task members[y]. */
struct block {
    int count;
    int room;
    int *members; /* (room) sorted by class */
    int *run;     /* (classes + 1) where each class starts */
    float *drag;  /* (room) */
    float *thr;   /* (types, room) INFINITY where it cannot share */
    float *pi;    /* (room) */
    float *moves; /* (3, types, room) charge by state of the other: new, on it, off it */
    float *cost;  /* (room) of the pair with the task at hand */
    float *reduced; /* (room) */
};

static void block_init(struct block *b, const struct work *w, int room)
{
    size_t n = (size_t)room, types = (size_t)w->types;

    b->room = room;
    b->members = arena_array(w->arena, int, n);
    b->run = arena_array(w->arena, int, w->classes + 1);
    b->drag = arena_array(w->arena, float, n);
    b->thr = arena_array(w->arena, float, types *n);
    b->pi = arena_array(w->arena, float, n);
    b->moves = arena_array(w->arena, float, 3 * types * n);
    b->cost = arena_array(w->arena, float, n);
    b->reduced = arena_array(w->arena, float, n);
    memset(b->moves, 0, 3 * types * n * sizeof(float));
}

/* Moves when a task of this state shares with one that runs on now_type. */
static float move_charge(const struct work *w, int state, int now_type, int type)
{
    int moves = (state > 0) + (now_type >= 0) - (state == 1 || now_type == type);

    return moves > 0 ? (float)(w->move_watts * moves) : 0;
}

static void block_load(struct block *b, const struct work *w, const int *order, int first,
                       int stride)
{
    int at = 0;

    b->count = 0;
    for (int x = first; x < w->tasks; x += stride)
        if (w->drag[order[x]] > 0)
            b->members[b->count++] = order[x];
    for (int k = 0; k <= w->classes; k++) {
        while (at < b->count && w->cls[b->members[at]] < k)
            at++;
        b->run[k] = at;
    }
    for (int y = 0; y < b->count; y++) {
        int i = b->members[y];

        b->drag[y] = w->drag[i];
        b->pi[y] = w->pi[i];
        for (int t = 0; t < w->types; t++) {
            b->thr[t * b->room + y] = w->thr[(size_t)i * (size_t)w->types + (size_t)t];
            for (int s = 0; s < 3 && w->move_watts > 0; s++)
                b->moves[(s * w->types + t) * b->room + y] =
                    move_charge(w, s, w->now_type[i], t);
        }
    }
}

/* Lower cost[] of the partners of one class by what this variant offers. */
__attribute__((hot)) static void offer(float *restrict cost, const float *restrict drag,
                                       const float *restrict thr,
                                       const float *restrict moves, int from, int to,
                                       float base, float rate, float need,
                                       float rate_other)
{
    for (int y = from; y < to; y++) {
        float c = base + moves[y];

        c = rate * drag[y] >= need ? c : WORK_NEVER;
        c = rate_other >= thr[y] ? c : WORK_NEVER;
        cost[y] = c < cost[y] ? c : cost[y];
    }
}

static void price_partners(struct block *b, const struct work *w, int x)
{
    const struct problem *p = w->p;
    int i = b->members[x];

    for (int y = 0; y < b->count; y++)
        b->cost[y] = WORK_NEVER;
    for (int v = 0; v < w->variants; v++) {
        int t = p->variants[v].type;
        float need = b->thr[t * b->room + x];
        int state = w->now_type[i] < 0 ? 0 : w->now_type[i] == t ? 1 : 2;

        if (!(need < INFINITY))
            continue;
        for (int l = 0; l < w->classes; l++) {
            size_t il = problem_cell(p, v, w->cls[i], l);

            if (b->run[l] == b->run[l + 1] || w->cell2[il] >= WORK_NEVER ||
                p->pair_rate[il] < need)
                continue;
            offer(b->cost, b->drag, b->thr + t * b->room,
                  b->moves + (state * w->types + t) * b->room, b->run[l], b->run[l + 1],
                  w->cell2[il] + (float)w->price[t], p->pair_rate[il], need,
                  p->pair_rate[problem_cell(p, v, l, w->cls[i])] * b->drag[x]);
        }
    }
    b->cost[x] = WORK_NEVER;
    for (int y = x - 1; w->gangs && y >= 0 && w->job[b->members[y]] == w->job[i]; y--)
        b->cost[y] = WORK_NEVER;
    for (int y = x + 1; w->gangs && y < b->count && w->job[b->members[y]] == w->job[i];
         y++)
        b->cost[y] = WORK_NEVER;
}

/* Append the partners of least reduced cost until the task has g->width of them.  The
 * scan starts at a place of each task's own, so equals do not all choose the same. */
static void keep_best(struct graph *g, struct block *b, int x)
{
    int i = b->members[x], have = g->count[i], room = g->width - have, kept = 0;
    int at = (int)((uint64_t)((uint32_t)x * 2654435761u) * (uint64_t)b->count >> 32);
    struct graph_edge *e = &g->edges[(size_t)i * (size_t)g->width + (size_t)have];
    float limit = WORK_NEVER / 2;
    int worst = 0;

    for (int y = 0; y < b->count; y++)
        b->reduced[y] = b->cost[y] - b->pi[y];
    for (int n = 0; n < b->count && room > 0; n++, at++) {
        if (at == b->count)
            at = 0;
        if (b->reduced[at] >= limit)
            continue;
        if (kept < room)
            worst = kept++;
        e[worst] = (struct graph_edge){b->reduced[at], at};
        if (kept < room)
            continue;
        for (int q = 0; q < room; q++)
            if (e[q].cost > e[worst].cost)
                worst = q;
        limit = e[worst].cost;
    }
    for (int q = 0; q < kept; q++)
        e[q] = (struct graph_edge){b->cost[e[q].to], b->members[e[q].to]};
    g->count[i] = have + kept;
}

/* The partner it has now is always a candidate: staying costs no move. */
static void keep_present_mate(struct graph *g, int i)
{
    const struct work *w = g->w;
    struct graph_edge *e = &g->edges[(size_t)i * (size_t)g->width];
    int mate = w->now_mate[i], q = 0;
    float cost;

    if (mate < 0 || (w->move_watts <= 0 && !w->pins))
        return;
    cost = graph_pair(g, i, mate, NULL);
    if (cost >= WORK_NEVER)
        return;
    while (q < g->count[i] && e[q].to != mate)
        q++;
    if (q == g->width)
        q--;
    e[q] = (struct graph_edge){cost, mate};
    if (q >= g->count[i])
        g->count[i] = q + 1;
}

static int by_cost(const void *a, const void *b)
{
    const struct graph_edge *x = a, *y = b;

    if (x->cost != y->cost)
        return x->cost < y->cost ? -1 : 1;
    return x->to < y->to ? -1 : x->to > y->to;
}

static void drop_worse_half(struct graph *g)
{
    const struct work *w = g->w;

    for (int i = 0; i < g->tasks; i++) {
        struct graph_edge *e = &g->edges[(size_t)i * (size_t)g->width];
        int n = g->count[i];

        for (int q = 0; q < n; q++)
            e[q].cost = e[q].to == g->mate[i] ? -WORK_NEVER : e[q].cost - w->pi[e[q].to];
        qsort(e, (size_t)n, sizeof(*e), by_cost);
        if (n > g->width / 2)
            n = g->width / 2;
        for (int q = 0; q < n; q++)
            e[q].cost = graph_pair(g, i, e[q].to, NULL);
        g->count[i] = n;
    }
}

/* Deal afresh: shuffle within every run of `stride` neighbours, so that each block still
 * gets its share of every class and need, but others than before. */
static void deal_again(int *order, int tasks, int stride, int round)
{
    struct rng rng;

    rng_stream(&rng, 77, (uint64_t)round);
    for (int x = 0; x < tasks; x += stride) {
        int n = tasks - x < stride ? tasks - x : stride;

        for (int q = n - 1; q > 0; q--) {
            int other = (int)rng_below(&rng, (size_t)q + 1);
            int swap = order[x + q];

            order[x + q] = order[x + other];
            order[x + other] = swap;
        }
    }
}

void candidates_find(struct graph *g, int block, int round)
{
    const struct work *w = g->w;
    size_t mark = arena_mark(w->arena);
    int *order = arena_array(w->arena, int, w->tasks);
    int blocks = (w->tasks + block - 1) / block;
    struct block b;

    work_order(w, order);
    if (round > 0) {
        deal_again(order, w->tasks, blocks, round);
        drop_worse_half(g);
    } else {
        memset(g->count, 0, (size_t)g->tasks * sizeof(int));
    }
    block_init(&b, w, w->tasks / (blocks ? blocks : 1) + 2);
    for (int first = 0; first < blocks; first++) {
        block_load(&b, w, order, first, blocks);
        for (int x = 0; x < b.count; x++) {
            price_partners(&b, w, x);
            keep_best(g, &b, x);
        }
    }
    for (int i = 0; i < g->tasks; i++)
        keep_present_mate(g, i);
    if (w->pins)
        graph_refresh(g); /* blocks know nothing of pins */
    arena_release(w->arena, mark);
}
