/* work.c - the problem as flat tables: solve.c builds it first, all stages read it */
#include "lab/solver/work.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Watts that using one more device of a type adds beside its own draw: its part of a
 * node's host power where the node would sleep otherwise, less its idle draw where the
 * node is awake anyway.  The least over the type's nodes, so sums stay lower bounds. */
static void find_open_watts(struct work *w)
{
    const struct problem *p = w->p;

    for (int t = 0; t < w->types; t++) {
        double least = INFINITY;

        for (int d = 0; d < p->device_count; d++) {
            const struct problem_node *n = &p->nodes[p->devices[d].node];
            double add = -p->types[t].idle_watts;

            if (p->devices[d].type != t || p->devices[d].closed)
                continue;
            if (p->sleep && n->may_sleep)
                add = (n->host_watts - n->sleep_watts) / n->device_count;
            if (add < least)
                least = add;
        }
        w->open[t] = p->node_count && isfinite(least) ? least : 0;
        w->devices[t] = p->types[t].devices;
    }
}

static double progress_of(const struct problem *p, int k, double rate)
{
    return p->classes[k].progress * rate / p->classes[k].devices;
}

static void price_cells(struct work *w)
{
    const struct problem *p = w->p;
    int classes = w->classes;

    for (int v = 0; v < w->variants; v++) {
        double open = w->open[p->variants[v].type];

        for (int k = 0; k < classes; k++) {
            size_t at = (size_t)v * (size_t)classes + (size_t)k;
            double rate = p->alone_rate[at];

            w->cell1[at] =
                rate > 0 ? (float)(p->alone_watts[at] + open - progress_of(p, k, rate))
                         : WORK_NEVER;
            for (int l = 0; l < classes; l++) {
                size_t kl = problem_cell(p, v, k, l), lk = problem_cell(p, v, l, k);
                bool runs = p->pair_rate[kl] > 0 && p->pair_rate[lk] > 0;

                w->cell2[kl] = runs ? (float)(p->pair_watts[kl] + open -
                                              progress_of(p, k, p->pair_rate[kl]) -
                                              progress_of(p, l, p->pair_rate[lk]))
                                    : WORK_NEVER;
            }
        }
    }
}

void work_refresh_task(struct work *w, int i)
{
    const struct problem *p = w->p;
    int j = w->job[i];
    const struct problem_job *job = &p->jobs[j];
    double sum = 0, need = job->need;
    int usable = 0;

    for (int t = 0; t < w->types; t++) {
        float *thr = &w->thr[(size_t)i * (size_t)w->types + (size_t)t];
        float speed = p->speed[(size_t)j * (size_t)w->types + (size_t)t];

        *thr = INFINITY;
        if (!(job->types >> t & 1) || speed <= 0)
            continue;
        /* A hair of slack: tables and needs are floats, divided and multiplied. */
        *thr = (float)(need / speed * (1 - 1e-6));
        sum += *thr;
        usable++;
    }
    w->cls[i] = job->class_id;
    w->need[i] = usable ? (float)(sum / usable) : INFINITY;
    w->drag[i] = job->may_share ? p->drag[j] : 0;
    w->penalty[i] = (float)(job->penalty / p->classes[job->class_id].devices);
}

void work_add_job(struct work *w, int j)
{
    int count = w->p->classes[w->p->jobs[j].class_id].devices;

    assert(w->tasks + count <= w->room);
    if (count > 1)
        w->gangs = true;
    for (int e = 0; e < count; e++) {
        int i = w->tasks++;

        w->job[i] = j;
        w->now_type[i] = w->now_mate[i] = w->pin[i] = -1;
        work_refresh_task(w, i);
        w->pi[i] = 0;
    }
}

static void pin(struct work *w, int i, int device)
{
    w->pin[i] = device;
    w->pins = true;
    for (int t = 0; t < w->types; t++)
        if (t != w->p->devices[device].type)
            w->thr[(size_t)i * (size_t)w->types + (size_t)t] = INFINITY;
}

/* Where tasks are now, from the problem's devices. */
static void find_now(struct work *w)
{
    const struct problem *p = w->p;
    size_t mark = arena_mark(w->arena);
    int *on = arena_array(w->arena, int, p->device_count + 1);

    for (int d = 0; d < p->device_count; d++)
        on[d] = -1;
    for (int i = 0, e = 0; i < w->tasks; i++, e++) {
        int d;

        if (i == 0 || w->job[i] != w->job[i - 1])
            e = 0;
        d = p->now[p->jobs[w->job[i]].first_task + e];
        if (d < 0)
            continue;
        w->now_type[i] = p->devices[d].type;
        if (p->jobs[w->job[i]].pinned)
            pin(w, i, d);
        if (on[d] >= 0) {
            w->now_mate[i] = on[d];
            w->now_mate[on[d]] = i;
        }
        on[d] = i;
    }
    arena_release(w->arena, mark);
}

void work_build(struct work *w, const struct problem *p, struct arena *arena,
                const bool *skip, int spare)
{
    size_t room = (size_t)p->task_count + (size_t)spare;
    size_t cells = (size_t)p->variant_count * (size_t)p->class_count;

    *w = (struct work){.p = p,
                       .arena = arena,
                       .types = p->type_count,
                       .classes = p->class_count,
                       .variants = p->variant_count,
                       .room = (int)room,
                       .move_watts = p->move_watts};
    w->job = arena_array(arena, int, room);
    w->cls = arena_array(arena, int, room);
    w->need = arena_array(arena, float, room);
    w->thr = arena_array(arena, float, room *(size_t)p->type_count);
    w->drag = arena_array(arena, float, room);
    w->penalty = arena_array(arena, float, room);
    w->now_type = arena_array(arena, int, room);
    w->now_mate = arena_array(arena, int, room);
    w->pin = arena_array(arena, int, room);
    w->pi = arena_array(arena, float, room);
    w->cell1 = arena_array(arena, float, cells);
    w->cell2 = arena_array(arena, float, cells *(size_t)p->class_count);
    find_open_watts(w);
    price_cells(w);
    for (int j = 0; j < p->job_count; j++)
        if (!skip || !skip[j])
            work_add_job(w, j);
    if (p->device_count)
        find_now(w);
}

struct order_key {
    int cls;
    float need;
    int task;
};

static int by_class_and_need(const void *a, const void *b)
{
    const struct order_key *x = a, *y = b;

    if (x->cls != y->cls)
        return x->cls < y->cls ? -1 : 1;
    if (x->need != y->need)
        return x->need > y->need ? -1 : 1;
    return x->task < y->task ? -1 : x->task > y->task;
}

void work_order(const struct work *w, int *order)
{
    size_t mark = arena_mark(w->arena);
    struct order_key *keys = arena_array(w->arena, struct order_key, w->tasks + 1);

    for (int i = 0; i < w->tasks; i++)
        keys[i] = (struct order_key){w->cls[i], w->need[i], i};
    qsort(keys, (size_t)w->tasks, sizeof(*keys), by_class_and_need);
    for (int i = 0; i < w->tasks; i++)
        order[i] = keys[i].task;
    arena_release(w->arena, mark);
}

bool work_pins_allow(const struct work *w, int i, int j)
{
    int mate = w->now_mate[i];

    /* Two that are pinned to one device stay together. */
    if (w->pin[i] >= 0 && mate >= 0 && w->pin[mate] >= 0)
        return j == mate;
    if (j < 0 || w->pin[j] < 0)
        return true;
    return w->pin[i] < 0 && (w->now_mate[j] < 0 || w->pin[w->now_mate[j]] < 0);
}

float work_alone_slow(const struct work *w, int type, int i, int *variant)
{
    const struct problem_type *t = &w->p->types[type];
    float thr = w->thr[(size_t)i * (size_t)w->types + (size_t)type];
    float best = WORK_NEVER;

    if (w->pins && !work_pins_allow(w, i, -1))
        return best;
    for (int v = t->first_variant; v < t->first_variant + t->variant_count; v++) {
        size_t at = (size_t)v * (size_t)w->classes + (size_t)w->cls[i];

        if (w->cell1[at] < best && w->p->alone_rate[at] >= thr) {
            best = w->cell1[at];
            if (variant)
                *variant = v;
        }
    }
    return best < WORK_NEVER ? best + (float)work_move1(w, type, i) : best;
}

float work_pair_slow(const struct work *w, int type, int i, int j, int *variant)
{
    const struct problem_type *t = &w->p->types[type];
    float thr_i = w->thr[(size_t)i * (size_t)w->types + (size_t)type];
    float thr_j = w->thr[(size_t)j * (size_t)w->types + (size_t)type];
    float best = WORK_NEVER;

    if (w->drag[i] <= 0 || w->drag[j] <= 0 || w->job[i] == w->job[j])
        return best;
    if (w->pins && !work_pins_allow(w, i, j))
        return best;
    for (int v = t->first_variant; v < t->first_variant + t->variant_count; v++) {
        size_t ij = problem_cell(w->p, v, w->cls[i], w->cls[j]);

        if (w->cell2[ij] < best && w->p->pair_rate[ij] * w->drag[j] >= thr_i &&
            w->p->pair_rate[problem_cell(w->p, v, w->cls[j], w->cls[i])] * w->drag[i] >=
                thr_j) {
            best = w->cell2[ij];
            if (variant)
                *variant = v;
        }
    }
    return best < WORK_NEVER ? best + (float)work_move2(w, type, i, j) : best;
}

void work_find_floors(struct work *w)
{
    size_t classes = (size_t)w->classes;

    w->floor1 = arena_array(w->arena, float, classes);
    w->floor2 = arena_array(w->arena, float, classes *classes);
    for (size_t k = 0; k < classes; k++)
        w->floor1[k] = WORK_NEVER;
    for (size_t kl = 0; kl < classes * classes; kl++)
        w->floor2[kl] = WORK_NEVER;
    for (size_t v = 0; v < (size_t)w->variants; v++) {
        for (size_t k = 0; k < classes; k++)
            w->floor1[k] = fminf(w->floor1[k], w->cell1[v * classes + k]);
        for (size_t kl = 0; kl < classes * classes; kl++)
            w->floor2[kl] = fminf(w->floor2[kl], w->cell2[v * classes * classes + kl]);
    }
}

void work_tabulate(struct work *w)
{
    size_t n = (size_t)w->tasks, types = (size_t)w->types;
    float *alone = arena_array(w->arena, float, types *n);
    float *pair = arena_array(w->arena, float, types *n *n);
    float *least = arena_array(w->arena, float, n *n);

    for (int t = 0; t < w->types; t++)
        for (int i = 0; i < w->tasks; i++) {
            float *row = &pair[((size_t)t * n + (size_t)i) * n];

            alone[(size_t)t * n + (size_t)i] = work_alone_slow(w, t, i, NULL);
            row[i] = WORK_NEVER;
            for (int j = 0; j < i; j++) {
                row[j] = work_pair_slow(w, t, i, j, NULL);
                pair[((size_t)t * n + (size_t)j) * n + (size_t)i] = row[j];
            }
        }
    w->alone_table = alone;
    w->pair_table = pair;
    for (size_t ij = 0; ij < n * n; ij++) {
        least[ij] = WORK_NEVER;
        for (size_t t = 0; t < types; t++)
            least[ij] = fminf(least[ij], pair[t * n * n + ij]);
    }
    w->pair_least = least;
}
