/* partners.c - see partners.h
 *
 * The innermost loop runs over partners of one class side by side in memory: the cost of
 * a pair is the same for all of them, only thresholds differ, and the compiler turns it
 * into vector code.  Classes are looked at in the order of the best they could offer, and
 * most of them not at all: once a task has its partners, nothing better is left. */
#include "lab/solver/partners.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Sorting classes pays when there are so many tasks in each, and not too many of them. */
#define SORT_FROM  8
#define SORT_UP_TO 256

/* A class on a variant: the least reduced cost one of it could have there, and the most
 * that the task at hand could need. */
struct partners_prospect {
    float least, most_need;
    int cls, type;
};

void partners_init(struct partners *b, const struct work *w, int room)
{
    size_t n = (size_t)room, types = (size_t)w->types;

    *b = (struct partners){.w = w, .room = room};
    b->members = arena_array(w->arena, int, n);
    b->run = arena_array(w->arena, int, w->classes + 1);
    b->drag = arena_array(w->arena, float, n);
    b->thr = arena_array(w->arena, float, types *n);
    b->pi = arena_array(w->arena, float, n);
    b->moves = arena_array(w->arena, float, 3 * types * n);
    b->cost = arena_array(w->arena, float, n);
    b->prospects = arena_array(w->arena, struct partners_prospect *, w->classes);
    b->prospect_count = arena_array(w->arena, int, w->classes);
    b->seen = arena_array(w->arena, int, w->classes);
    memset(b->moves, 0, 3 * types * n * sizeof(float));
    for (int k = 0; k < w->classes; k++)
        b->prospects[k] = NULL;
}

/* Moves when a task of this state shares with one that runs on now_type. */
static float move_charge(const struct work *w, int state, int now_type, int type)
{
    int moves = (state > 0) + (now_type >= 0) - (state == 1 || now_type == type);

    return moves > 0 ? (float)(w->move_watts * moves) : 0;
}

/* Where each class starts. */
static void find_runs(struct partners *b)
{
    const struct work *w = b->w;
    int at = 0, classes = 0;

    for (int k = 0; k < w->classes; k++) {
        b->seen[k] = b->prospect_count[k] = -1;
        b->run[k] = at;
        while (at < b->count && w->cls[b->members[at]] == k)
            at++;
        classes += at > b->run[k];
    }
    b->run[w->classes] = at;
    b->sorted = classes * SORT_FROM <= b->count && classes <= SORT_UP_TO;
}

void partners_load(struct partners *b, const int *order, int first, int stride)
{
    const struct work *w = b->w;

    b->count = 0;
    for (int x = first; x < w->tasks; x += stride)
        if (w->drag[order[x]] > 0)
            b->members[b->count++] = order[x];
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
    find_runs(b);
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

static int least_first(const void *a, const void *b)
{
    const struct partners_prospect *x = a, *y = b;

    if (x->least != y->least)
        return x->least < y->least ? -1 : 1;
    if (x->cls != y->cls)
        return x->cls < y->cls ? -1 : 1;
    return x->type < y->type ? -1 : x->type > y->type;
}

/* The most that a member of class l is worth whom this rate suffices on the type. */
static float top_at(const struct partners *b, int l, int type, float rate)
{
    const float *thr = b->thr + type * b->room;
    float top = -INFINITY;

    for (int y = b->run[l]; y < b->run[l + 1]; y++)
        top = thr[y] <= rate && b->pi[y] > top ? b->pi[y] : top;
    return top;
}

static float most_drag(const struct partners *b, int l)
{
    float most = 0;

    for (int y = b->run[l]; y < b->run[l + 1]; y++)
        most = fmaxf(most, b->drag[y]);
    return most;
}

/* What the classes could offer to members of class k at best: moves only make it dearer.
 */
static void find_prospects(struct partners *b, int k)
{
    const struct work *w = b->w;
    const struct problem *p = w->p;
    float drag = most_drag(b, k);
    int count = 0;

    if (!b->prospects[k])
        b->prospects[k] =
            arena_array(w->arena, struct partners_prospect, w->classes * w->variants);
    for (int l = 0; l < w->classes; l++) {
        float other_drag = most_drag(b, l);

        for (int v = 0; v < w->variants && b->run[l] < b->run[l + 1]; v++) {
            size_t kl = problem_cell(p, v, k, l);
            int t = p->variants[v].type;
            float top = top_at(b, l, t, p->pair_rate[problem_cell(p, v, l, k)] * drag);

            if (w->cell2[kl] < WORK_NEVER && top > -INFINITY)
                b->prospects[k][count++] =
                    (struct partners_prospect){w->cell2[kl] + (float)w->price[t] - top,
                                               p->pair_rate[kl] * other_drag, l, t};
        }
    }
    qsort(b->prospects[k], (size_t)count, sizeof(*b->prospects[k]), least_first);
    b->prospect_count[k] = count;
}

/* cost[] of the partners of class l of the task at x. */
static void price_partners(struct partners *b, int x, int l)
{
    const struct work *w = b->w;
    const struct problem *p = w->p;
    int i = b->members[x];

    for (int y = b->run[l]; y < b->run[l + 1]; y++)
        b->cost[y] = WORK_NEVER;
    for (int v = 0; v < w->variants; v++) {
        int t = p->variants[v].type;
        float need = b->thr[t * b->room + x];
        int state = w->now_type[i] < 0 ? 0 : w->now_type[i] == t ? 1 : 2;
        size_t il = problem_cell(p, v, w->cls[i], l);

        if (!(need < INFINITY) || w->cell2[il] >= WORK_NEVER || p->pair_rate[il] < need)
            continue;
        offer(b->cost, b->drag, b->thr + t * b->room,
              b->moves + (state * w->types + t) * b->room, b->run[l], b->run[l + 1],
              w->cell2[il] + (float)w->price[t], p->pair_rate[il], need,
              p->pair_rate[problem_cell(p, v, l, w->cls[i])] * b->drag[x]);
    }
    if (l != w->cls[i])
        return;
    b->cost[x] = WORK_NEVER;
    for (int y = x - 1; w->gangs && y >= 0 && w->job[b->members[y]] == w->job[i]; y--)
        b->cost[y] = WORK_NEVER;
    for (int y = x + 1; w->gangs && y < b->count && w->job[b->members[y]] == w->job[i];
         y++)
        b->cost[y] = WORK_NEVER;
}

/* The best so far, and what it takes to be one of them. */
struct best {
    struct partners_one *one;
    int most, count, worst;
    float limit;
};

static void keep(struct best *best, float reduced, int y)
{
    if (best->count < best->most)
        best->worst = best->count++;
    best->one[best->worst] = (struct partners_one){reduced, y};
    if (best->count < best->most)
        return;
    for (int q = 0; q < best->most; q++)
        if (best->one[q].reduced > best->one[best->worst].reduced)
            best->worst = q;
    best->limit = best->one[best->worst].reduced;
}

/* The scan starts at a place of each task's own, so equals do not all choose the same. */
static void look_at(struct partners *b, struct best *best, int x, int l)
{
    int from = b->run[l], to = b->run[l + 1];
    int at =
        from + (int)((uint64_t)((uint32_t)x * 2654435761u) * (uint64_t)(to - from) >> 32);

    b->seen[l] = x;
    price_partners(b, x, l);
    for (int n = from; n < to; n++, at++) {
        if (at == to)
            at = from;
        if (b->cost[at] - b->pi[at] < best->limit)
            keep(best, b->cost[at] - b->pi[at], at);
    }
}

int partners_find(struct partners *b, int x, int most, struct partners_one *ones)
{
    struct best best = {.one = ones, .most = most, .limit = WORK_NEVER / 2};
    int k = b->w->cls[b->members[x]];

    if (most <= 0)
        return 0;
    for (int l = 0; !b->sorted && l < b->w->classes; l++)
        look_at(b, &best, x, l);
    if (!b->sorted)
        return best.count;
    if (b->prospect_count[k] < 0)
        find_prospects(b, k);
    for (int c = 0; c < b->prospect_count[k]; c++) {
        const struct partners_prospect *at = &b->prospects[k][c];

        if (at->least >= best.limit)
            break;
        if (b->seen[at->cls] != x && at->most_need >= b->thr[at->type * b->room + x])
            look_at(b, &best, x, at->cls);
    }
    return best.count;
}
