/* candidates.c - partners worth a look: solve.c fills the graph with them before
 * matching.c pairs tasks */
#include "lab/solver/candidates.h"

#include "base/rng.h"
#include "lab/solver/partners.h"

#include <stdlib.h>
#include <string.h>

/* Append the partners of least reduced cost until the task has g->width of them. */
static void append_best(struct graph *g, struct partners *b, struct partners_one *best,
                        int x)
{
    int i = b->members[x];
    struct graph_edge *e = &g->edges[(size_t)i * (size_t)g->width];
    int count = partners_find(b, x, g->width - g->count[i], best);

    for (int q = 0; q < count; q++)
        e[g->count[i]++] = (struct graph_edge){best[q].reduced + b->pi[best[q].at],
                                               b->members[best[q].at]};
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
    struct partners b;
    struct partners_one *best = arena_array(w->arena, struct partners_one, g->width + 1);

    work_order(w, order);
    if (round > 0) {
        deal_again(order, w->tasks, blocks, round);
        drop_worse_half(g);
    } else {
        memset(g->count, 0, (size_t)g->tasks * sizeof(int));
    }
    partners_init(&b, w, w->tasks / (blocks ? blocks : 1) + 2);
    for (int first = 0; first < blocks; first++) {
        partners_load(&b, order, first, blocks);
        for (int x = 0; x < b.count; x++)
            append_best(g, &b, best, x);
    }
    for (int i = 0; i < g->tasks; i++)
        keep_present_mate(g, i);
    if (w->pins)
        graph_refresh(g); /* blocks know nothing of pins */
    arena_release(w->arena, mark);
}
