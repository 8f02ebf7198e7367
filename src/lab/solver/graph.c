/* graph.c - tasks and their possible partners: candidates.c fills it, matching.c pairs
 * in it, solve.c seats the pairs */
#include "lab/solver/graph.h"

#include <string.h>

static void price_alone(struct graph *g)
{
    const struct work *w = g->w;

    for (int i = 0; i < g->tasks; i++) {
        g->alone[i] = w->penalty[i];
        g->alone_type[i] = -1;
        for (int t = 0; t < w->types; t++) {
            float cost = work_alone(w, t, i, NULL) + (float)w->price[t];

            if (cost < g->alone[i]) {
                g->alone[i] = cost;
                g->alone_type[i] = t;
            }
        }
    }
}

void graph_init(struct graph *g, struct work *w, int width)
{
    size_t n = (size_t)w->tasks;

    *g = (struct graph){.w = w, .tasks = w->tasks, .width = width};
    g->alone = arena_array(w->arena, float, n);
    g->alone_type = arena_array(w->arena, int, n);
    g->count = arena_array(w->arena, int, n);
    g->edges = arena_array(w->arena, struct graph_edge, n * (size_t)width);
    g->mate = arena_array(w->arena, int, n);
    g->cost = arena_array(w->arena, float, n);
    memset(g->count, 0, n * sizeof(int));
    price_alone(g);
    for (int i = 0; i < g->tasks; i++) {
        g->mate[i] = -1;
        g->cost[i] = g->alone[i];
    }
}

float graph_pair(const struct graph *g, int i, int j, int *type)
{
    const struct work *w = g->w;
    float best = WORK_NEVER;

    if (type)
        *type = -1;
    for (int t = 0; t < w->types; t++) {
        float cost = work_pair(w, t, i, j, NULL);

        if (cost < WORK_NEVER && cost + (float)w->price[t] < best) {
            best = cost + (float)w->price[t];
            if (type)
                *type = t;
        }
    }
    return best;
}

void graph_refresh(struct graph *g)
{
    price_alone(g);
    for (int i = 0; i < g->tasks; i++) {
        struct graph_edge *e = &g->edges[(size_t)i * (size_t)g->width];

        for (int q = 0; q < g->count[i]; q++)
            e[q].cost = graph_pair(g, i, e[q].to, NULL);
    }
}

void graph_demand(const struct graph *g, int *demand)
{
    memset(demand, 0, (size_t)g->w->types * sizeof(int));
    for (int i = 0; i < g->tasks; i++) {
        int type = g->alone_type[i];

        if (g->mate[i] >= 0 && g->mate[i] < i)
            continue;
        if (g->mate[i] >= 0)
            graph_pair(g, i, g->mate[i], &type);
        if (type >= 0)
            demand[type]++;
    }
}
