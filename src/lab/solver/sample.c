/* sample.c - prices without an LP: solve.c samples them where the LP would be too
 * large */
#include "lab/solver/sample.h"

#include "lab/solver/candidates.h"
#include "lab/solver/matching.h"
#include "lab/solver/prices.h"

#include <math.h>
#include <string.h>

#define FIRST_STEP 150.0 /* watts for a type wanted twice as often as there is */
#define WIDTH      16

static double dearest(const struct work *w)
{
    double most = 0;

    for (int i = 0; i < w->tasks; i++)
        most = fmax(most, (double)w->penalty[i]);
    return most;
}

static bool step_prices(const struct graph *g, double step)
{
    struct work *w = g->w;
    int demand[PROBLEM_MAX_TYPES];
    double most = dearest(w), change = 0;

    graph_demand(g, demand);
    for (int t = 0; t < w->types; t++) {
        double excess = demand[t] - w->devices[t];
        double to = w->price[t] + step * excess / fmax(w->devices[t], 1);

        to = fmin(fmax(to, 0), most);
        change += fabs(to - w->price[t]);
        w->price[t] = to;
    }
    return change > 1e-6;
}

void sample_step(struct graph *g, double step_watts)
{
    if (step_prices(g, step_watts))
        graph_refresh(g);
}

/* The sample as a work of its own: same tables, some of the tasks. */
static void draw(struct work *to, const struct work *w, int size)
{
    struct arena *arena = w->arena;
    int *order = arena_array(arena, int, w->tasks + 1);
    size_t n = (size_t)size, types = (size_t)w->types;

    work_order(w, order);
    *to = *w;
    to->tasks = to->room = size;
    to->move_watts = 0;
    to->pins = false;
    to->alone_table = to->pair_table = to->pair_least = NULL;
    to->job = arena_array(arena, int, n);
    to->cls = arena_array(arena, int, n);
    to->need = arena_array(arena, float, n);
    to->thr = arena_array(arena, float, n *types);
    to->drag = arena_array(arena, float, n);
    to->penalty = arena_array(arena, float, n);
    to->now_type = arena_array(arena, int, n);
    to->now_mate = arena_array(arena, int, n);
    to->pi = arena_array(arena, float, n);
    for (int x = 0; x < size; x++) {
        int i = order[(size_t)((x + 0.5) * w->tasks / size)];

        to->job[x] = w->job[i];
        to->cls[x] = w->cls[i];
        to->need[x] = w->need[i];
        to->drag[x] = w->drag[i];
        to->penalty[x] = w->penalty[i];
        to->now_type[x] = to->now_mate[x] = -1;
        memcpy(&to->thr[(size_t)x * types], &w->thr[(size_t)i * types],
               types * sizeof(float));
    }
    for (int t = 0; t < w->types; t++) {
        to->devices[t] = (int)((double)w->devices[t] * size / w->tasks + 0.5);
        if (to->devices[t] < 1 && w->devices[t] > 0)
            to->devices[t] = 1;
    }
}

void sample_prices(struct work *w, int size, int rounds)
{
    size_t mark = arena_mark(w->arena);
    double sum[PROBLEM_MAX_TYPES] = {0};
    int summed = 0;
    struct work part;
    struct graph g;

    if (size > w->tasks)
        size = w->tasks;
    if (size == 0)
        return;
    draw(&part, w, size);
    prices_guess_pi(&part);
    graph_init(&g, &part, size > WIDTH ? WIDTH : size);
    for (int round = 0; round < rounds; round++) {
        candidates_find(&g, size, round);
        matching_run(&g, 1.0);
        sample_step(&g, FIRST_STEP / (1 + 0.35 * round));
        if (round < rounds / 2)
            continue;
        for (int t = 0; t < w->types; t++)
            sum[t] += part.price[t];
        summed++;
    }
    for (int t = 0; t < w->types; t++)
        w->price[t] = summed ? sum[t] / summed : 0;
    arena_release(w->arena, mark);
    prices_guess_pi(w);
}
