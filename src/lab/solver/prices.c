/* prices.c - the class-threshold LP: solve.c gets prices of types and worths of tasks
 * from it */
#include "lab/solver/prices.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Tasks of one class that may use the same types: interchangeable up to their need. */
struct group {
    int cls;
    uint64_t types;
    bool shares;
    int next;         /* another group of the class; -1: none */
    int first, count; /* in the order, most demanding first */
    int slots;
    float *slot; /* (slots) distinct rates of places, best first */
    int buckets;
    int *rank;    /* (buckets) worst slot that is good enough */
    int *demand;  /* (buckets) tasks */
    double *harm; /* (buckets) mean penalty */
    int row;      /* of the first bucket */
};

struct prices {
    struct work *w;
    struct lp *lp;
    int group_count;
    struct group *groups;
    int *order;   /* (tasks) by group, then need */
    bool *shares; /* (classes) some group of it shares */
    double mean_drag;
    struct prices_plan *plan;
    int first_place; /* column of the LP */
};

static uint64_t usable_types(const struct work *w, int i)
{
    uint64_t types = 0;

    for (int t = 0; t < w->types; t++)
        if (w->thr[(size_t)i * (size_t)w->types + (size_t)t] < INFINITY)
            types |= (uint64_t)1 << t;
    return types;
}

/* Which group a task belongs to; a new one when it is the first of its kind. */
static int find_group(struct prices *s, int *of_class, int i)
{
    const struct work *w = s->w;
    uint64_t types = usable_types(w, i);
    bool shares = w->drag[i] > 0;
    int *link = &of_class[w->cls[i]];

    while (*link >= 0) {
        struct group *g = &s->groups[*link];

        if (g->types == types && g->shares == shares)
            return *link;
        link = &g->next;
    }
    s->groups[s->group_count] =
        (struct group){.cls = w->cls[i], .types = types, .shares = shares, .next = -1};
    if (shares)
        s->shares[w->cls[i]] = true;
    *link = s->group_count;
    return s->group_count++;
}

static void make_groups(struct prices *s)
{
    struct work *w = s->w;
    int *of_class = arena_array(w->arena, int, w->classes);
    int *sorted = arena_array(w->arena, int, w->tasks);
    int *group = arena_array(w->arena, int, w->tasks);
    int *at;
    double drag = 0;
    int sharing = 0;

    s->groups = arena_array(w->arena, struct group, w->tasks);
    s->order = arena_array(w->arena, int, w->tasks);
    s->shares = arena_array(w->arena, bool, w->classes);
    memset(s->shares, 0, (size_t)w->classes * sizeof(bool));
    for (int k = 0; k < w->classes; k++)
        of_class[k] = -1;
    work_order(w, sorted);
    for (int x = 0; x < w->tasks; x++) {
        group[x] = find_group(s, of_class, sorted[x]);
        s->groups[group[x]].count++;
        if (w->drag[sorted[x]] > 0) {
            drag += w->drag[sorted[x]];
            sharing++;
        }
    }
    s->mean_drag = sharing ? drag / sharing : 1;
    at = arena_array(w->arena, int, s->group_count + 1);
    at[0] = 0;
    for (int g = 0; g < s->group_count; g++) {
        s->groups[g].first = at[g];
        at[g + 1] = at[g] + s->groups[g].count;
    }
    for (int x = 0; x < w->tasks; x++) /* stable: need stays in order */
        s->order[at[group[x]]++] = sorted[x];
}

static int descending(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;

    return x < y ? 1 : x > y ? -1 : 0;
}

static void make_slots(struct prices *s, struct group *g)
{
    const struct work *w = s->w;
    size_t most = (size_t)w->variants * ((size_t)w->classes + 1);
    int n = 0, distinct = 0;

    g->slot = arena_array(w->arena, float, most);
    for (int v = 0; v < w->variants; v++) {
        size_t at = (size_t)v * (size_t)w->classes + (size_t)g->cls;

        if (!(g->types >> w->p->variants[v].type & 1))
            continue;
        if (w->cell1[at] < WORK_NEVER)
            g->slot[n++] = w->p->alone_rate[at];
        for (int l = 0; g->shares && l < w->classes; l++)
            if (s->shares[l] && w->cell2[problem_cell(w->p, v, g->cls, l)] < WORK_NEVER)
                g->slot[n++] = (float)(w->p->pair_rate[problem_cell(w->p, v, g->cls, l)] *
                                       s->mean_drag);
    }
    qsort(g->slot, (size_t)n, sizeof(float), descending);
    for (int i = 0; i < n; i++)
        if (i == 0 || g->slot[i] != g->slot[i - 1])
            g->slot[distinct++] = g->slot[i];
    g->slots = distinct;
}

/* Tasks that can use the same places fall into one bucket; most demanding first. */
static void make_buckets(struct prices *s, struct group *g)
{
    const struct work *w = s->w;
    int usable = 0;

    g->rank = arena_array(w->arena, int, g->slots + 1);
    g->demand = arena_array(w->arena, int, g->slots + 1);
    g->harm = arena_array(w->arena, double, g->slots + 1);
    for (int x = g->first; x < g->first + g->count; x++) {
        int i = s->order[x], b = g->buckets - 1;

        while (usable < g->slots && g->slot[usable] >= w->need[i])
            usable++;
        if (b < 0 || g->rank[b] != usable - 1) {
            b = g->buckets++;
            g->rank[b] = usable - 1;
            g->demand[b] = 0;
            g->harm[b] = 0;
        }
        g->demand[b]++;
        g->harm[b] += w->penalty[i];
    }
    g->row = lp_rows(s->lp);
    for (int b = 0; b < g->buckets; b++) {
        g->harm[b] /= g->demand[b];
        lp_row(s->lp, g->demand[b], g->demand[b]);
    }
}

/* Row of the most demanding bucket that a place of this rate serves; -1: nobody. */
static int serves(const struct group *g, float rate)
{
    int low = 0, high = g->slots, rank;

    while (low < high) {
        int mid = (low + high) / 2;

        if (g->slot[mid] > rate)
            low = mid + 1;
        else
            high = mid;
    }
    rank = low;
    low = 0;
    high = g->buckets;
    while (low < high) {
        int mid = (low + high) / 2;

        if (g->rank[mid] < rank)
            low = mid + 1;
        else
            high = mid;
    }
    return low < g->buckets ? g->row + low : -1;
}

static void add_chains(struct prices *s)
{
    for (int g = 0; g < s->group_count; g++) {
        const struct group *group = &s->groups[g];

        for (int b = 0; b < group->buckets; b++) {
            int rows[2] = {group->row + b, group->row + b + 1};
            double one = 1, carry[2] = {-1, 1};

            lp_column(s->lp, group->harm[b], 0, group->demand[b], 1, rows, &one);
            if (b + 1 < group->buckets)
                lp_column(s->lp, 0, 0, LP_INFINITY, 2, rows, carry);
        }
    }
}

/* Columns of places follow one another: the n-th is plan->places[n]. */
static void note_place(struct prices *s, int type, int g, int h, float rate_g,
                       float rate_h)
{
    s->plan->places[s->plan->place_count++] =
        (struct prices_place){type, {g, h}, {rate_g, rate_h}, 0};
}

static void add_pairs(struct prices *s, const struct group *g, const struct group *h,
                      int v)
{
    const struct work *w = s->w;
    size_t gh = problem_cell(w->p, v, g->cls, h->cls);
    size_t hg = problem_cell(w->p, v, h->cls, g->cls);
    int type = w->p->variants[v].type;
    int rows[3] = {type, 0, 0};
    double values[3] = {1, 1, 1};

    if (w->cell2[gh] >= WORK_NEVER || !(g->types & h->types & (uint64_t)1 << type))
        return;
    rows[1] = serves(g, (float)(w->p->pair_rate[gh] * s->mean_drag));
    rows[2] = serves(h, (float)(w->p->pair_rate[hg] * s->mean_drag));
    if (rows[1] < 0 || rows[2] < 0)
        return;
    if (rows[1] == rows[2])
        values[1] = 2;
    lp_column(s->lp, w->cell2[gh], 0, w->devices[type], rows[1] == rows[2] ? 2 : 3, rows,
              values);
    note_place(s, type, (int)(g - s->groups), (int)(h - s->groups), w->p->pair_rate[gh],
               w->p->pair_rate[hg]);
}

static void add_places(struct prices *s)
{
    const struct work *w = s->w;

    s->first_place = lp_columns(s->lp);
    s->plan->places = arena_array(w->arena, struct prices_place,
                                  (size_t)w->variants * (size_t)s->group_count *
                                      ((size_t)s->group_count + 3) / 2);
    for (int v = 0; v < w->variants; v++) {
        int type = w->p->variants[v].type;

        for (int x = 0; x < s->group_count; x++) {
            const struct group *g = &s->groups[x];
            size_t at = (size_t)v * (size_t)w->classes + (size_t)g->cls;
            int rows[2] = {type, -1};
            double ones[2] = {1, 1};

            if (!(g->types >> type & 1))
                continue;
            if (w->cell1[at] < WORK_NEVER)
                rows[1] = serves(g, w->p->alone_rate[at]);
            if (rows[1] >= 0) {
                lp_column(s->lp, w->cell1[at], 0, w->devices[type], 2, rows, ones);
                note_place(s, type, x, -1, w->p->alone_rate[at], 0);
            }
            for (int y = x; g->shares && y < s->group_count; y++)
                if (s->groups[y].shares)
                    add_pairs(s, g, &s->groups[y], v);
        }
    }
}

static void read_prices(struct prices *s)
{
    struct work *w = s->w;
    const double *dual = lp_duals(s->lp);

    for (int t = 0; t < w->types; t++)
        w->price[t] = dual[t] < 0 ? -dual[t] : 0;
    for (int x = 0; x < s->group_count; x++) {
        const struct group *g = &s->groups[x];
        int at = g->first;

        for (int b = 0; b < g->buckets; b++)
            for (int e = 0; e < g->demand[b]; e++)
                w->pi[s->order[at++]] = (float)dual[g->row + b];
    }
}

static void read_plan(struct prices *s)
{
    const double *values = lp_values(s->lp) + s->first_place;
    struct prices_plan *plan = s->plan;
    int kept = 0;

    for (int c = 0; c < plan->place_count; c++) {
        plan->places[c].count = (int)(values[c] + 1e-6);
        if (plan->places[c].count > 0)
            plan->places[kept++] = plan->places[c];
    }
    plan->place_count = kept;
}

long prices_size(const struct work *w)
{
    size_t mark = arena_mark(w->arena);
    bool *present = arena_array(w->arena, bool, w->classes);
    long classes = 0;

    memset(present, 0, (size_t)w->classes * sizeof(bool));
    for (int i = 0; i < w->tasks; i++) {
        classes += !present[w->cls[i]];
        present[w->cls[i]] = true;
    }
    arena_release(w->arena, mark);
    return classes * (classes + 3) / 2 * w->variants;
}

/* What the plan needs of the groups; lives as long as the work does. */
static void keep_groups(struct prices *s)
{
    struct prices_plan *plan = s->plan;

    plan->group_count = s->group_count;
    plan->order = s->order;
    plan->first = arena_array(s->w->arena, int, s->group_count + 1);
    for (int g = 0; g < s->group_count; g++)
        plan->first[g] = s->groups[g].first;
    plan->first[s->group_count] = s->w->tasks;
}

bool prices_from_classes(struct work *w, struct lp *lp, struct prices_plan *plan)
{
    struct prices s = {.w = w, .lp = lp, .plan = plan};
    bool solved;

    *plan = (struct prices_plan){0};
    lp_clear(lp);
    make_groups(&s);
    keep_groups(&s);
    for (int t = 0; t < w->types; t++)
        lp_row(lp, -LP_INFINITY, w->devices[t]);
    for (int g = 0; g < s.group_count; g++) {
        make_slots(&s, &s.groups[g]);
        make_buckets(&s, &s.groups[g]);
    }
    add_chains(&s);
    add_places(&s);
    solved = lp_solve(lp, LP_DUAL, 0);
    memset(w->price, 0, sizeof(w->price));
    if (solved) {
        read_prices(&s);
        read_plan(&s);
    } else {
        plan->place_count = 0;
        prices_guess_pi(w);
    }
    return solved;
}

void prices_guess_pi(struct work *w)
{
    for (int i = 0; i < w->tasks; i++) {
        float best = w->penalty[i];

        for (int t = 0; t < w->types; t++) {
            float cost = work_alone(w, t, i, NULL) + (float)w->price[t];

            if (cost < best)
                best = cost;
        }
        w->pi[i] = best / 2;
    }
}
