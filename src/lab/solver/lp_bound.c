/* lp_bound.c - from prices of classes to a bound: solve.c calls it when the prices are
 * known */
#include "lab/solver/lp_bound.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A class seen through one type: thresholds ascending, most that a task with at most that
 * threshold is worth. */
struct column {
    int count;
    int *task;   /* (count) by threshold on this type */
    float *thr;  /* (count) */
    double *top; /* (count) running maximum of pi */
};

/* A limit: tasks with a threshold of at most rate may be worth no more than this. */
struct limit {
    float rate;
    double most;
};

struct bound {
    const struct work *w;
    double *pi;             /* (tasks) */
    struct column *columns; /* (classes, types) */
    float *drag;            /* (classes) largest of its tasks; 0: none shares */
    struct limit *limits;   /* (types, room) of one class */
    int *limit_count;       /* (types) */
    int limit_room;
};

struct keyed {
    float thr;
    int task;
};

static int by_threshold(const void *a, const void *b)
{
    const struct keyed *x = a, *y = b;

    if (x->thr != y->thr)
        return x->thr < y->thr ? -1 : 1;
    return x->task < y->task ? -1 : x->task > y->task;
}

static struct column *column_of(const struct bound *b, int k, int t)
{
    return &b->columns[(size_t)k * (size_t)b->w->types + (size_t)t];
}

/* Tasks of each class in turn: start (classes + 1), members (tasks). */
static void by_class(const struct work *w, int *start, int *members)
{
    int *at = arena_array(w->arena, int, w->classes + 1);

    memset(start, 0, ((size_t)w->classes + 1) * sizeof(int));
    for (int i = 0; i < w->tasks; i++)
        start[w->cls[i] + 1]++;
    for (int k = 0; k < w->classes; k++)
        start[k + 1] += start[k];
    memcpy(at, start, (size_t)w->classes * sizeof(int));
    for (int i = 0; i < w->tasks; i++)
        members[at[w->cls[i]]++] = i;
}

static void make_column(struct bound *b, const int *members, int count, int k, int t)
{
    const struct work *w = b->w;
    struct column *c = column_of(b, k, t);
    size_t mark;
    struct keyed *keys;

    c->task = arena_array(w->arena, int, count + 1);
    c->thr = arena_array(w->arena, float, count + 1);
    c->top = arena_array(w->arena, double, count + 1);
    c->count = 0;
    mark = arena_mark(w->arena);
    keys = arena_array(w->arena, struct keyed, count + 1);
    for (int x = 0; x < count; x++) {
        float thr = w->thr[(size_t)members[x] * (size_t)w->types + (size_t)t];

        if (thr < INFINITY)
            keys[c->count++] = (struct keyed){thr, members[x]};
    }
    qsort(keys, (size_t)c->count, sizeof(*keys), by_threshold);
    for (int x = 0; x < c->count; x++) {
        c->task[x] = keys[x].task;
        c->thr[x] = keys[x].thr;
    }
    arena_release(w->arena, mark);
}

static void find_tops(struct bound *b, int k)
{
    for (int t = 0; t < b->w->types; t++) {
        struct column *c = column_of(b, k, t);
        double top = -INFINITY;

        for (int x = 0; x < c->count; x++) {
            if (b->pi[c->task[x]] > top)
                top = b->pi[c->task[x]];
            c->top[x] = top;
        }
    }
}

/* The most that a task of class k that can use this rate on type t is worth. */
static double top_at(const struct bound *b, int k, int t, float rate)
{
    const struct column *c = column_of(b, k, t);
    int low = 0, high = c->count;

    while (low < high) {
        int mid = (low + high) / 2;

        if (c->thr[mid] <= rate)
            low = mid + 1;
        else
            high = mid;
    }
    return low ? c->top[low - 1] : -INFINITY;
}

static void add_limit(struct bound *b, int t, float rate, double most)
{
    b->limits[(size_t)t * (size_t)b->limit_room + (size_t)b->limit_count[t]++] =
        (struct limit){rate, most};
}

static void clear_limits(struct bound *b)
{
    memset(b->limit_count, 0, (size_t)b->w->types * sizeof(int));
}

static int by_rate(const void *a, const void *b)
{
    const struct limit *x = a, *y = b;

    return x->rate < y->rate ? -1 : x->rate > y->rate;
}

/* Least of the limits that hold for each task of class k, into most (tasks). */
static void spread_limits(struct bound *b, int k, double *most)
{
    for (int t = 0; t < b->w->types; t++) {
        struct limit *l = &b->limits[(size_t)t * (size_t)b->limit_room];
        const struct column *c = column_of(b, k, t);
        int n = b->limit_count[t], at;
        double least = INFINITY;

        qsort(l, (size_t)n, sizeof(*l), by_rate);
        at = n - 1;
        for (int x = c->count - 1; x >= 0; x--) {
            while (at >= 0 && l[at].rate >= c->thr[x])
                least = fmin(least, l[at--].most);
            if (least < most[c->task[x]])
                most[c->task[x]] = least;
        }
    }
}

/* What every task of class k may be worth at most, going by places alone. */
static void limit_alone(struct bound *b, int k)
{
    const struct work *w = b->w;

    for (int v = 0; v < w->variants; v++) {
        size_t at = (size_t)v * (size_t)w->classes + (size_t)k;
        int t = w->p->variants[v].type;

        if (w->cell1[at] < WORK_NEVER)
            add_limit(b, t, w->p->alone_rate[at], (double)w->cell1[at] + w->price[t]);
    }
}

/* How much class k and class l may be worth together on variant v, and the rates at which
 * they can use it; false when they cannot share. */
static bool pair_place(const struct bound *b, int v, int k, int l, double *sum,
                       float *rate_k, float *rate_l)
{
    const struct work *w = b->w;
    size_t kl = problem_cell(w->p, v, k, l);

    if (w->cell2[kl] >= WORK_NEVER || b->drag[k] <= 0 || b->drag[l] <= 0)
        return false;
    *sum = (double)w->cell2[kl] + w->price[w->p->variants[v].type];
    *rate_k = w->p->pair_rate[kl] * b->drag[l];
    *rate_l = w->p->pair_rate[problem_cell(w->p, v, l, k)] * b->drag[k];
    return true;
}

/* First make it hold: wherever two classes are worth too much together, each gives up
 * half.  All limits are taken from the same tops, so together they suffice. */
static void lower_class(struct bound *b, int k)
{
    const struct work *w = b->w;

    clear_limits(b);
    limit_alone(b, k);
    for (int v = 0; v < w->variants; v++)
        for (int l = 0; l < w->classes; l++) {
            int t = w->p->variants[v].type;
            double sum, mine, over;
            float rate_k, rate_l;

            if (!pair_place(b, v, k, l, &sum, &rate_k, &rate_l))
                continue;
            mine = top_at(b, k, t, rate_k);
            over = mine + top_at(b, l, t, rate_l) - sum;
            if (over > 0)
                add_limit(b, t, rate_k, mine - over / 2);
        }
}

/* Then raise: class k as far as the others allow.  Within the class both partners may
 * rise, so each goes to half at most where the top is below half. */
static void raise_limits(struct bound *b, int k)
{
    const struct work *w = b->w;

    clear_limits(b);
    limit_alone(b, k);
    for (int v = 0; v < w->variants; v++)
        for (int l = 0; l < w->classes; l++) {
            int t = w->p->variants[v].type;
            float rate_k, rate_l;
            double sum, other;

            if (!pair_place(b, v, k, l, &sum, &rate_k, &rate_l))
                continue;
            other = top_at(b, l, t, rate_l);
            if (l == k)
                other = fmax(other, sum / 2);
            if (other > -INFINITY)
                add_limit(b, t, rate_k, sum - other);
        }
}

static void bound_init(struct bound *b, const struct work *w)
{
    int *start = arena_array(w->arena, int, w->classes + 1);
    int *members = arena_array(w->arena, int, w->tasks + 1);

    *b = (struct bound){.w = w, .limit_room = w->variants * (w->classes + 1) + 1};
    b->pi = arena_array(w->arena, double, w->tasks + 1);
    b->columns = arena_array(w->arena, struct column, w->classes * w->types);
    b->drag = arena_array(w->arena, float, w->classes);
    b->limits =
        arena_array(w->arena, struct limit, (size_t)w->types * (size_t)b->limit_room);
    b->limit_count = arena_array(w->arena, int, w->types);
    by_class(w, start, members);
    for (int k = 0; k < w->classes; k++) {
        b->drag[k] = 0;
        for (int x = start[k]; x < start[k + 1]; x++)
            b->drag[k] = fmaxf(b->drag[k], w->drag[members[x]]);
        for (int t = 0; t < w->types; t++)
            make_column(b, members + start[k], start[k + 1] - start[k], k, t);
    }
}

static void lower_all(struct bound *b)
{
    const struct work *w = b->w;
    double *most = arena_array(w->arena, double, w->tasks + 1);

    for (int k = 0; k < w->classes; k++)
        find_tops(b, k);
    for (int i = 0; i < w->tasks; i++)
        most[i] = w->penalty[i];
    for (int k = 0; k < w->classes; k++) {
        lower_class(b, k);
        spread_limits(b, k, most);
    }
    for (int i = 0; i < w->tasks; i++)
        b->pi[i] = fmin(b->pi[i], most[i]);
}

static void raise_all(struct bound *b)
{
    const struct work *w = b->w;
    double *most = arena_array(w->arena, double, w->tasks + 1);

    for (int k = 0; k < w->classes; k++)
        find_tops(b, k);
    for (int i = 0; i < w->tasks; i++)
        most[i] = w->penalty[i];
    for (int k = 0; k < w->classes; k++) {
        const struct column *c;

        raise_limits(b, k);
        spread_limits(b, k, most);
        for (int t = 0; t < w->types; t++) {
            c = column_of(b, k, t);
            for (int x = 0; x < c->count; x++)
                b->pi[c->task[x]] = fmax(b->pi[c->task[x]], most[c->task[x]]);
        }
        find_tops(b, k);
    }
    for (int i = 0; i < w->tasks; i++) /* what can run nowhere is in no column */
        if (!(w->need[i] < INFINITY))
            b->pi[i] = w->penalty[i];
}

double bound_constant(const struct work *w)
{
    const struct problem *p = w->p;
    double watts = 0;

    for (int n = 0; n < p->node_count; n++) {
        const struct problem_node *node = &p->nodes[n];

        if (p->sleep && node->may_sleep) {
            watts += node->sleep_watts;
            continue;
        }
        watts += node->host_watts;
        for (int d = node->first_device; d < node->first_device + node->device_count; d++)
            watts += p->types[p->devices[d].type].idle_watts;
    }
    return watts;
}

double bound_total(const struct work *w, const double *pi, double *proven)
{
    double total = bound_constant(w);

    for (int i = 0; i < w->tasks; i++) {
        total += pi[i];
        if (proven)
            proven[i] = pi[i];
    }
    for (int t = 0; t < w->types; t++)
        total -= w->price[t] * w->devices[t];
    return total;
}

double bound_from(const struct work *w, const float *pi, double *proven)
{
    size_t mark = arena_mark(w->arena);
    struct bound b;
    double total;

    bound_init(&b, w);
    for (int i = 0; i < w->tasks; i++)
        b.pi[i] = pi[i];
    lower_all(&b);
    raise_all(&b);
    total = bound_total(w, b.pi, proven);
    arena_release(w->arena, mark);
    return total;
}
