/* moves.c - the best way to spread the tasks of two records over two devices,
 * solver_search.h */
#include "lab/solver/solver_search.h"

struct move_seats {
    double cost[PROBLEM_MAX_TYPES + 1]; /* of a set on each type; last: unserved */
};

struct evaluation {
    struct search *s;
    int types;
    int room[PROBLEM_MAX_TYPES]; /* devices free once both records are taken away */
    int old[2];                  /* types of the records; below 0: none */
    double base;                 /* cost now */
    struct search_move *move;
};

static void cost_of_set(const struct search *s, int i, int j, struct move_seats *seats)
{
    const struct work *w = s->w;

    for (int t = 0; t < w->types; t++)
        seats->cost[t] = i < 0   ? (double)WORK_NEVER
                         : j < 0 ? work_alone(w, t, i, NULL)
                                 : work_pair(w, t, i, j, NULL);
    seats->cost[w->types] = i < 0   ? 0
                            : j < 0 ? (double)w->penalty[i]
                                    : (double)WORK_NEVER;
}

/* Host power that changes when the old types are replaced by a and b. */
static double stair_change(const struct evaluation *e, int a, int b)
{
    const struct search *s = e->s;
    int touched[4] = {e->old[0], e->old[1], a, b};
    double change = 0;

    for (int x = 0; x < 4; x++) {
        int t = touched[x], by = 0;
        bool first = true;

        if (t < 0)
            continue;
        for (int y = 0; y < 4; y++) {
            if (touched[y] != t)
                continue;
            by += y < 2 ? -1 : 1;
            first = first && y >= x;
        }
        if (first && by != 0)
            change +=
                s->stairs->extra[t][s->used[t] + by] - s->stairs->extra[t][s->used[t]];
    }
    return change;
}

static void keep(struct search_move *m, double delta, int types, int a, int b,
                 const int *x, const int *y)
{
    m->delta = delta;
    m->a = a < types ? a : SEARCH_PARKED;
    m->b = b < types ? b : SEARCH_PARKED;
    for (int e = 0; e < 2; e++) {
        m->x[e] = x[e];
        m->y[e] = y[e];
    }
}

/* All types for the sets x and y. */
static void try_sets(struct evaluation *e, const int *x, const int *y)
{
    struct move_seats on_a, on_b;
    int types = e->types;

    /* Most sets cannot save anything on any type: seen without looking at types. */
    if (!e->s->stairs && (double)work_least(e->s->w, x[0], x[1]) +
                                 (double)work_least(e->s->w, y[0], y[1]) >=
                             e->base + e->move->delta - 1e-7)
        return;
    cost_of_set(e->s, x[0], x[1], &on_a);
    cost_of_set(e->s, y[0], y[1], &on_b);
    for (int a = 0; a <= types; a++) {
        double first = on_a.cost[a] - e->base;

        if (on_a.cost[a] >= (double)WORK_NEVER || (a < types && e->room[a] <= 0))
            continue;
        for (int b = 0; b <= types; b++) {
            double delta = first + on_b.cost[b];

            if (on_b.cost[b] >= (double)WORK_NEVER ||
                (b < types && e->room[b] <= (a == b)))
                continue;
            if (e->s->stairs)
                delta += stair_change(e, a < types ? a : -1, b < types ? b : -1);
            if (delta < e->move->delta - 1e-7)
                keep(e->move, delta, types, a, b, x, y);
        }
    }
}

static void try_split(struct evaluation *e, int x0, int x1, int y0, int y1)
{
    const int x[2] = {x0, x1}, y[2] = {y0, y1};

    try_sets(e, x, y);
}

static void prepare(struct evaluation *e, struct search *s, const struct search_record *u,
                    const struct search_record *v)
{
    for (int t = 0; t < e->types; t++)
        e->room[t] = s->w->devices[t] - s->used[t];
    e->old[0] = u->type >= 0 ? u->type : -1;
    e->old[1] = v->type >= 0 ? v->type : -1;
    for (int x = 0; x < 2; x++)
        if (e->old[x] >= 0)
            e->room[e->old[x]]++;
    e->base = u->cost + v->cost;
}

/* Whatever the seats, they cost at least what the tasks are worth less the prices of the
 * types used; those are the ones given up or ones with room left. */
static bool hopeless(const struct search *s, const struct search_record *u,
                     const struct search_record *v, double limit)
{
    const struct search_record *records[2] = {u, v};
    bool fresh = false;
    double worth = s->w->move_watts, first = 0, second = 0;

    /* Where nobody is new, any change moves somebody. */
    for (int x = 0; x < 2; x++)
        for (int e = 0; e < 2; e++)
            if (records[x]->task[e] >= 0) {
                worth += s->worth[records[x]->task[e]];
                if (s->w->now_type[records[x]->task[e]] < 0)
                    fresh = true;
            }
    if (fresh)
        worth -= s->w->move_watts;
    for (int t = 0; t < s->w->types; t++) {
        int times = 2 * (s->used[t] < s->w->devices[t]) + (u->type == t) + (v->type == t);

        for (; times > 0 && s->w->price[t] > second; times--) {
            second = s->w->price[t];
            if (second > first) {
                double swap = first;

                first = second;
                second = swap;
            }
        }
    }
    return worth - first - second >= u->cost + v->cost + limit;
}

static void try_splits(struct evaluation *e, const struct search_record *u,
                       const struct search_record *v)
{
    int a = u->task[0], b = u->task[1], c = v->task[0], d = v->task[1];

    try_split(e, a, b, c, d);
    if (b >= 0 && d >= 0) {
        try_split(e, a, c, b, d);
        try_split(e, a, d, b, c);
    } else if (b >= 0 && c >= 0) {
        try_split(e, a, c, b, -1);
        try_split(e, b, c, a, -1);
    } else if (b >= 0) {
        try_split(e, a, -1, b, -1);
    } else if (c >= 0) {
        try_split(e, a, c, -1, -1);
    }
}

bool search_evaluate(struct search *s, int r, int q, double limit,
                     struct search_move *move)
{
    const struct search_record none = {SEARCH_FREE, {-1, -1}, 0};
    const struct search_record *u = &s->records[r];
    const struct search_record *v = q >= 0 ? &s->records[q] : &none;
    struct search_move best = {.delta = limit};
    struct evaluation e = {.s = s, .types = s->w->types, .move = &best};

    s->evaluations++;
    if (s->worth && !s->stairs && hopeless(s, u, v, limit))
        return false;
    prepare(&e, s, u, v);
    if (u->task[1] < 0 && v->task[1] >= 0) /* the fuller one first */
        try_splits(&e, v, u);
    else
        try_splits(&e, u, v);
    if (best.delta >= limit)
        return false;
    *move = best;
    return true;
}
