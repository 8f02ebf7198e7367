/* bound_tasks.c - the bound where jobs of a class differ: solve.c takes it when it is
 * above that of lp_bound.c */
#include "lab/solver/bound_tasks.h"

#include "lab/solver/lp_bound.h"

#include <math.h>
#include <string.h>

#define HAIR  1e-5 /* watts */
#define ALIKE 1e-4

/* What one task offers to whoever would share with it, by class and variant. */
struct terms {
    float *cost; /* (classes, variants) with the price; WORK_NEVER: nothing */
    float *rate; /* what the other gets */
    float *drag; /* that the other must keep to */
};

struct tasks_bound {
    const struct work *w;
    double *pi;    /* (tasks) */
    double *alone; /* (tasks) most that it is worth by itself */
    struct terms terms;
};

static void make_terms(const struct tasks_bound *b, int i)
{
    const struct work *w = b->w;
    const struct problem *p = w->p;

    for (int l = 0; l < w->classes; l++)
        for (int v = 0; v < w->variants; v++) {
            size_t at = (size_t)l * (size_t)w->variants + (size_t)v;
            size_t il = problem_cell(p, v, w->cls[i], l);
            int t = p->variants[v].type;
            float thr = w->thr[(size_t)i * (size_t)w->types + (size_t)t];

            b->terms.cost[at] = WORK_NEVER;
            if (w->cell2[il] >= WORK_NEVER || p->pair_rate[il] < thr)
                continue;
            b->terms.cost[at] = w->cell2[il] + (float)w->price[t];
            b->terms.rate[at] =
                p->pair_rate[problem_cell(p, v, l, w->cls[i])] * w->drag[i];
            b->terms.drag[at] = thr / p->pair_rate[il];
        }
}

/* Least that i and j cost together, at the prices. */
static float cost_with(const struct tasks_bound *b, int j)
{
    const struct work *w = b->w;
    size_t first = (size_t)w->cls[j] * (size_t)w->variants;
    const float *thr = &w->thr[(size_t)j * (size_t)w->types];
    float best = WORK_NEVER;

    for (int v = 0; v < w->variants; v++) {
        size_t at = first + (size_t)v;

        if (b->terms.cost[at] < best && b->terms.drag[at] <= w->drag[j] &&
            b->terms.rate[at] >= thr[w->p->variants[v].type])
            best = b->terms.cost[at];
    }
    return best;
}

/* Most that i may be worth given all the others. */
static double allowed(const struct tasks_bound *b, int i)
{
    const struct work *w = b->w;
    double most = b->alone[i];

    if (w->drag[i] <= 0)
        return most;
    make_terms(b, i);
    for (int j = 0; j < w->tasks; j++) {
        float cost;

        if (w->job[j] == w->job[i] || w->drag[j] <= 0)
            continue;
        cost = cost_with(b, j);
        if (cost < WORK_NEVER)
            most = fmin(most, (double)cost - b->pi[j]);
    }
    return most;
}

static void find_alone(struct tasks_bound *b)
{
    const struct work *w = b->w;

    for (int i = 0; i < w->tasks; i++) {
        b->alone[i] = (double)w->penalty[i];
        for (int v = 0; v < w->variants; v++) {
            size_t at = (size_t)v * (size_t)w->classes + (size_t)w->cls[i];
            int t = w->p->variants[v].type;

            if (w->cell1[at] < WORK_NEVER &&
                w->p->alone_rate[at] >= w->thr[(size_t)i * (size_t)w->types + (size_t)t])
                b->alone[i] = fmin(b->alone[i], (double)w->cell1[at] + w->price[t]);
        }
    }
}

/* One after the other comes down to what the others allow: what an earlier one gave up, a
 * later one need not.  Afterwards no pair is worth too much.  A hair off: costs are
 * floats. */
static void lower_all(struct tasks_bound *b)
{
    for (int i = 0; i < b->w->tasks; i++)
        b->pi[i] = fmin(b->pi[i], b->alone[i]);
    for (int i = 0; i < b->w->tasks; i++)
        b->pi[i] = fmin(b->pi[i], allowed(b, i) - HAIR);
}

static void raise_all(struct tasks_bound *b)
{
    for (int i = 0; i < b->w->tasks; i++)
        b->pi[i] = fmax(b->pi[i], allowed(b, i) - HAIR);
}

double bound_tasks_from(const struct work *w, const float *pi, double *proven)
{
    size_t mark = arena_mark(w->arena);
    size_t cells = (size_t)w->classes * (size_t)w->variants + 1;
    struct tasks_bound b = {.w = w};
    double total;

    b.pi = arena_array(w->arena, double, w->tasks + 1);
    b.alone = arena_array(w->arena, double, w->tasks + 1);
    b.terms.cost = arena_array(w->arena, float, cells);
    b.terms.rate = arena_array(w->arena, float, cells);
    b.terms.drag = arena_array(w->arena, float, cells);
    for (int i = 0; i < w->tasks; i++)
        b.pi[i] = pi[i];
    find_alone(&b);
    lower_all(&b);
    raise_all(&b);
    total = bound_total(w, b.pi, proven);
    arena_release(w->arena, mark);
    return total;
}

static bool unlike(float a, float b)
{
    return fabsf(a - b) > (float)ALIKE * (fabsf(a) + fabsf(b));
}

bool bound_tasks_differ(const struct work *w)
{
    size_t mark = arena_mark(w->arena), types = (size_t)w->types;
    int *first = arena_array(w->arena, int, w->classes + 1);
    bool differ = false;

    for (int k = 0; k < w->classes; k++)
        first[k] = -1;
    for (int i = 0; i < w->tasks && !differ; i++) {
        int f = first[w->cls[i]];

        if (f < 0) {
            first[w->cls[i]] = i;
            continue;
        }
        differ = w->drag[i] > 0 && w->drag[f] > 0 && unlike(w->drag[i], w->drag[f]);
        for (size_t t = 1; t < types && !differ; t++) {
            const float *a = &w->thr[(size_t)i * types], *b = &w->thr[(size_t)f * types];

            if (isfinite(a[0]) && isfinite(a[t]) && isfinite(b[0]) && isfinite(b[t]))
                differ = unlike(a[t] * b[0], b[t] * a[0]);
        }
    }
    arena_release(w->arena, mark);
    return differ;
}
