/* near.c - an index of partners by need and cost: the search and update.c ask it for
 * the best move of a record */
#include "lab/solver/near.h"

#include "lab/solver/partners.h"

#include <stdlib.h>

#define STRAY         4  /* records at random beside the near ones */
#define SWEEP         64 /* tasks swept over count as one evaluation of a move */
#define FIND          4  /* and partners found by the index as so many */

#define NEAR_PARTNERS 24

/* What each class offers the task at hand, a variant after the other. */
struct offers {
    float *cost; /* (classes, variants) of the pair with price; WORK_NEVER */
    float *rate; /* (classes, variants) what the other gets */
    float *need; /* (classes, variants) drag the other must keep to, for our own need */
};

static void make_offers(const struct search *s, int i, struct offers *o)
{
    const struct work *w = s->w;
    const struct problem *p = w->p;
    size_t count = (size_t)w->classes * (size_t)w->variants;

    o->cost = arena_array(w->arena, float, count);
    o->rate = arena_array(w->arena, float, count);
    o->need = arena_array(w->arena, float, count);
    for (int l = 0; l < w->classes; l++)
        for (int v = 0; v < w->variants; v++) {
            size_t at = (size_t)l * (size_t)w->variants + (size_t)v;
            size_t il = problem_cell(p, v, w->cls[i], l);
            int t = p->variants[v].type;
            float thr = w->thr[(size_t)i * (size_t)w->types + (size_t)t];

            o->cost[at] = WORK_NEVER;
            if (w->cell2[il] >= WORK_NEVER || p->pair_rate[il] < thr)
                continue;
            o->cost[at] = w->cell2[il] + (float)w->price[t];
            o->rate[at] = p->pair_rate[problem_cell(p, v, l, w->cls[i])] * w->drag[i];
            o->need[at] = thr / p->pair_rate[il];
        }
}

static float best_offer(const struct search *s, const struct offers *o, int j)
{
    const struct work *w = s->w;
    size_t first = (size_t)w->cls[j] * (size_t)w->variants;
    float best = WORK_NEVER;

    for (int v = 0; v < w->variants; v++) {
        size_t at = first + (size_t)v;

        if (o->cost[at] < best && o->need[at] <= w->drag[j] &&
            o->rate[at] >=
                w->thr[(size_t)j * (size_t)w->types + (size_t)w->p->variants[v].type])
            best = o->cost[at];
    }
    return best;
}

/* What its record costs beyond its worth is there to be saved. */
static float worth_and_excess(const struct search *s, int i)
{
    return (float)(s->worth[i] + search_excess(s, s->place[i]));
}

int near_partners(struct search *s, int i, int most, int *partners)
{
    const struct work *w = s->w;
    size_t mark = arena_mark(w->arena);
    float reduced[NEAR_MOST], limit = WORK_NEVER / 2;
    struct offers o;
    int count = 0, worst = 0;

    if (w->drag[i] <= 0)
        return 0;
    make_offers(s, i, &o);
    s->evaluations += w->tasks / SWEEP;
    for (int j = 0; j < w->tasks; j++) {
        float cost;

        if (s->place[j] < 0 || w->job[j] == w->job[i])
            continue;
        cost = best_offer(s, &o, j);
        if (cost >= WORK_NEVER)
            continue;
        cost -= worth_and_excess(s, j);
        if (!(cost < limit))
            continue;
        if (count < most)
            worst = count++;
        partners[worst] = j;
        reduced[worst] = cost;
        if (count < most)
            continue;
        for (int q = 0; q < most; q++)
            if (reduced[q] > reduced[worst])
                worst = q;
        limit = reduced[worst];
    }
    arena_release(w->arena, mark);
    return count;
}

struct near_index {
    struct partners partners;
    int *at; /* (tasks) column of each; -1: does not share */
};

void near_index_tasks(struct search *s)
{
    const struct work *w = s->w;
    struct near_index *x = arena_array(w->arena, struct near_index, 1);
    int *order = arena_array(w->arena, int, w->tasks + 1);

    x->at = arena_array(w->arena, int, w->tasks + 1);
    for (int i = 0; i < w->tasks; i++)
        x->at[i] = -1;
    work_order(w, order);
    partners_init(&x->partners, w, w->tasks + 1);
    partners_load(&x->partners, order, 0, 1);
    for (int y = 0; y < x->partners.count; y++) {
        int i = x->partners.members[y];

        x->at[i] = y;
        x->partners.pi[y] = worth_and_excess(s, i);
    }
    s->index = x;
}

static void refresh_index(const struct search *s, const int *tasks)
{
    for (int e = 0; e < 2; e++)
        if (s->index && tasks[e] >= 0 && s->index->at[tasks[e]] >= 0)
            s->index->partners.pi[s->index->at[tasks[e]]] = worth_and_excess(s, tasks[e]);
}

static int find_partners(struct search *s, int i, int most, int *partners)
{
    struct partners_one best[NEAR_MOST];
    int count;

    if (!s->index)
        return near_partners(s, i, most, partners);
    s->evaluations += FIND;
    if (s->index->at[i] < 0)
        return 0;
    count = partners_find(&s->index->partners, s->index->at[i], most, best);
    for (int q = 0; q < count; q++)
        partners[q] = s->index->partners.members[best[q].at];
    return count;
}

bool near_best(struct search *s, int record, int most)
{
    struct search_move best = {.delta = -1e-4};
    struct search_record rec = s->records[record];
    int with = -2;

    if (rec.type == SEARCH_FREE)
        return false;
    if (search_evaluate(s, record, -1, best.delta, &best))
        with = -1;
    for (int e = 0; e < 2 && rec.task[e] >= 0; e++) {
        int partners[NEAR_MOST];
        int count = find_partners(s, rec.task[e], most, partners);

        for (int q = 0; q < count; q++)
            if (s->place[partners[q]] != record &&
                search_evaluate(s, record, s->place[partners[q]], best.delta, &best))
                with = s->place[partners[q]];
    }
    for (int q = 0; q < STRAY; q++) {
        int other = (int)rng_below(&s->rng, (size_t)s->count);

        if (other != record && s->records[other].type != SEARCH_FREE &&
            search_evaluate(s, record, other, best.delta, &best))
            with = other;
    }
    if (with < -1)
        return false;
    search_apply(s, record, with, &best);
    refresh_index(s, best.x);
    refresh_index(s, best.y);
    return true;
}

/* ---- records that cost more than they are worth ---- */

struct excess {
    double watts;
    int task;
};

static int largest_first(const void *a, const void *b)
{
    const struct excess *x = a, *y = b;

    if (x->watts != y->watts)
        return x->watts > y->watts ? -1 : 1;
    return x->task < y->task ? -1 : x->task > y->task;
}

long near_focus(struct search *s, long effort)
{
    size_t mark = arena_mark(s->w->arena);
    struct excess *order = arena_array(s->w->arena, struct excess, s->count + 1);
    long end = s->evaluations + effort, moves = 0;
    size_t count = 0;

    for (int r = 0; r < s->count; r++)
        if (s->records[r].type != SEARCH_FREE && search_excess(s, r) > SEARCH_MIN_EXCESS)
            order[count++] = (struct excess){search_excess(s, r), s->records[r].task[0]};
    qsort(order, count, sizeof(*order), largest_first);
    near_index_tasks(s);
    for (size_t q = 0; q < count && s->evaluations < end; q++) {
        int r = s->place[order[q].task];

        if (r >= 0 && search_excess(s, r) > SEARCH_MIN_EXCESS)
            moves += near_best(s, r, NEAR_PARTNERS);
    }
    s->index = NULL;
    arena_release(s->w->arena, mark);
    return moves;
}
