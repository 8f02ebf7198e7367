/* reference_brute.c - every assignment, see reference.h
 *
 * The first job without a place goes nowhere, alone on each type, or on each type with
 * each later job; cut only where the cost so far is no better than the best whole. */
#include "lab/bench/reference_private.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

struct brute {
    struct reference *r;
    bool *placed; /* (jobs) */
    int left[PROBLEM_MAX_TYPES];
    int depth;
    struct reference_column *stack, *best; /* (jobs) */
    int best_depth;
    double best_cost;
    double *least; /* (jobs + 1) least that jobs from here on can add */
};

static void go_on(struct brute *b, int from, double cost);

static void take(struct brute *b, int type, int i, int j, double cost)
{
    b->placed[i] = true;
    if (j >= 0)
        b->placed[j] = true;
    if (type >= 0)
        b->left[type]--;
    b->stack[b->depth++] = (struct reference_column){type, {i, j}};
    go_on(b, i + 1, cost);
    b->depth--;
    if (type >= 0)
        b->left[type]++;
    b->placed[i] = false;
    if (j >= 0)
        b->placed[j] = false;
}

static void go_on(struct brute *b, int from, double cost)
{
    const struct work *w = &b->r->w;

    while (from < w->tasks && b->placed[from])
        from++;
    if (cost + b->least[from] >= b->best_cost)
        return;
    if (from == w->tasks) {
        b->best_cost = cost;
        b->best_depth = b->depth;
        for (int d = 0; d < b->depth; d++)
            b->best[d] = b->stack[d];
        return;
    }
    for (int t = 0; t < w->types; t++) {
        float alone = work_alone(w, t, from, NULL);

        if (b->left[t] == 0)
            continue;
        for (int j = from + 1; j < w->tasks; j++) {
            float pair = b->placed[j] ? WORK_NEVER : work_pair(w, t, from, j, NULL);

            if (pair < WORK_NEVER)
                take(b, t, from, j, cost + (double)pair);
        }
        if (alone < WORK_NEVER)
            take(b, t, from, -1, cost + (double)alone);
    }
    take(b, -1, from, -1, cost + (double)w->penalty[from]);
}

/* Costs may be below zero; half the cheapest place a job could have is a safe least. */
static void find_least(struct brute *b)
{
    const struct work *w = &b->r->w;

    b->least[w->tasks] = 0;
    for (int i = w->tasks - 1; i >= 0; i--) {
        double least = (double)w->penalty[i];

        for (int t = 0; t < w->types; t++) {
            least = fmin(least, (double)work_alone(w, t, i, NULL));
            for (int j = 0; j < w->tasks; j++)
                if (j != i)
                    least = fmin(least, fmin(0, (double)work_pair(w, t, i, j, NULL)));
        }
        b->least[i] = b->least[i + 1] + fmin(least, 0);
    }
}

void reference_brute(struct reference *r)
{
    size_t n = (size_t)r->w.tasks;
    struct brute b = {.r = r, .best_cost = INFINITY};
    double *ones = mem_array(double, n + 1);

    b.placed = mem_array(bool, n + 1);
    b.stack = mem_array(struct reference_column, n + 1);
    b.best = mem_array(struct reference_column, n + 1);
    b.least = mem_array(double, n + 1);
    for (int t = 0; t < r->w.types; t++)
        b.left[t] = r->w.devices[t];
    find_least(&b);
    go_on(&b, 0, 0);
    free(r->columns);
    r->columns = mem_dup(b.best, n + 1, sizeof(*b.best));
    r->count = b.best_depth;
    for (size_t i = 0; i < n; i++)
        ones[i] = 1;
    reference_plan(r, ones);
    r->result->bound = r->result->objective;
    r->result->proven = true;
    free(ones);
    free(b.placed);
    free(b.stack);
    free(b.best);
    free(b.least);
}
