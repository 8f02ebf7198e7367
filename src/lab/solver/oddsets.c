/* oddsets.c - see oddsets.h
 *
 * Not every violated set is found: components of the edges above a few thresholds, which
 * are the odd cycles of a half-integral solution, and triangles. */
#include "lab/solver/oddsets.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

#define VIOLATED 0.02
#define MOST     31 /* members; larger sets are hardly ever the reason */

struct support_graph {
    int tasks;
    const struct oddsets_edge *edges;
    int count;
    int *root;    /* (tasks) union-find */
    int *size;    /* (tasks) of the root's component */
    double *held; /* (tasks) value of the edges within the root's component */
    int *members; /* (tasks) */
    oddsets_found *found;
    void *ctx;
    int reported;
    bool go_on;
};

static int find(struct support_graph *g, int i)
{
    while (g->root[i] != i)
        i = g->root[i] = g->root[g->root[i]];
    return i;
}

static void report(struct support_graph *g, const int *members, int count)
{
    g->reported++;
    g->go_on = g->found(g->ctx, members, count);
}

static void components(struct support_graph *g, double threshold)
{
    for (int i = 0; i < g->tasks; i++) {
        g->root[i] = i;
        g->size[i] = 1;
        g->held[i] = 0;
    }
    for (int e = 0; e < g->count; e++) {
        int a = find(g, g->edges[e].a), b = find(g, g->edges[e].b);

        if (g->edges[e].value <= threshold || a == b)
            continue;
        g->root[b] = a;
        g->size[a] += g->size[b];
    }
    for (int e = 0; e < g->count; e++) {
        int a = find(g, g->edges[e].a);

        if (a == find(g, g->edges[e].b))
            g->held[a] += g->edges[e].value;
    }
    for (int r = 0; r < g->tasks && g->go_on; r++) {
        int count = 0;

        if (g->root[r] != r || g->size[r] < 3 || g->size[r] % 2 == 0 ||
            g->size[r] > MOST || g->held[r] <= (g->size[r] - 1) / 2 + VIOLATED)
            continue;
        for (int i = 0; i < g->tasks; i++)
            if (find(g, i) == r)
                g->members[count++] = i;
        report(g, g->members, count);
    }
}

static double value_of(const struct support_graph *g, int a, int b)
{
    for (int e = 0; e < g->count; e++)
        if ((g->edges[e].a == a && g->edges[e].b == b) ||
            (g->edges[e].a == b && g->edges[e].b == a))
            return g->edges[e].value;
    return 0;
}

/* Two edges that meet and what closes them. */
static void triangles(struct support_graph *g)
{
    for (int e = 0; e < g->count && g->go_on; e++)
        for (int f = e + 1; f < g->count && g->go_on; f++) {
            const struct oddsets_edge *x = &g->edges[e], *y = &g->edges[f];
            int shared = x->a == y->a || x->a == y->b   ? x->a
                         : x->b == y->a || x->b == y->b ? x->b
                                                        : -1;
            int p = x->a == shared ? x->b : x->a, q = y->a == shared ? y->b : y->a;
            int set[3] = {shared, p, q};

            if (shared < 0 || p > q || x->value + y->value <= 0.5 ||
                x->value + y->value + value_of(g, p, q) <= 1 + VIOLATED)
                continue;
            report(g, set, 3);
        }
}

int oddsets_find(int tasks, const struct oddsets_edge *edges, int count,
                 oddsets_found *found, void *ctx)
{
    static const double thresholds[] = {0.01, 0.15, 0.3, 0.4};
    struct support_graph g = {.tasks = tasks,
                              .edges = edges,
                              .count = count,
                              .found = found,
                              .ctx = ctx,
                              .go_on = true};

    g.root = mem_array(int, (size_t)tasks + 1);
    g.size = mem_array(int, (size_t)tasks + 1);
    g.members = mem_array(int, (size_t)tasks + 1);
    g.held = mem_array(double, (size_t)tasks + 1);
    for (size_t x = 0; x < sizeof(thresholds) / sizeof(thresholds[0]) && g.go_on; x++)
        components(&g, thresholds[x]);
    if (g.go_on)
        triangles(&g);
    free(g.root);
    free(g.size);
    free(g.members);
    free(g.held);
    return g.reported;
}
