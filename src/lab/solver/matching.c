/* matching.c - the auction that pairs tasks: solve.c runs it on the graph and
 * seats the pairs */
#include "lab/solver/matching.h"

#include "lab/solver/graph.h"

#include <stdlib.h>
#include <string.h>

/* ---- from a permutation of tasks to pairs ------------------------------------------ */

/* A cycle of one is a task alone, of two a pair; a longer even cycle falls apart into
 * pairs in two ways, of which the cheaper is taken; an odd one leaves a task over, and
 * two odd ones are joined through the pair of left-over tasks that saves most. */

/* Odd cycles are compared with this many neighbours: all with all would be quadratic. */
#define JOIN_WINDOW 96

#define MAX_OPTIONS 5

struct odd {
    int first, count; /* in cycles.tasks */
    int left;         /* position in the cycle of the task left over */
    int options;
    int option[MAX_OPTIONS]; /* positions that cost least to leave over */
    float cost;              /* when that one stays alone */
    bool joined;
};

struct cycles {
    struct graph *g;
    int *tasks;  /* members of all odd cycles, one after the other */
    float *edge; /* cost of the pair (member, next member) */
    float *rest; /* cost of all pairs when this member is left over */
    struct odd *odds;
    int used, odd_count;
};

struct join {
    float saving;
    int a, b; /* odd cycles */
    int x, y; /* positions left over in them */
    float cost;
};

static void pair_up(struct graph *g, int a, int b, float cost)
{
    g->mate[a] = b;
    g->mate[b] = a;
    g->cost[a] = g->cost[b] = cost;
}

static void leave_alone(struct graph *g, int i)
{
    g->mate[i] = -1;
    g->cost[i] = g->alone[i];
}

/* A pair no type can hold falls apart: both alone. */
static void settle_pair(struct graph *g, int a, int b, float cost)
{
    if (cost < WORK_NEVER) {
        pair_up(g, a, b, cost);
    } else {
        leave_alone(g, a);
        leave_alone(g, b);
    }
}

static void split_even(struct graph *g, const int *c, const float *edge, int n)
{
    double even = 0, odd = 0;
    int start;

    for (int t = 0; t < n; t += 2) {
        even += (double)edge[t];
        odd += (double)edge[t + 1];
    }
    start = n > 2 && odd < even;
    for (int t = 0; t < n; t += 2)
        settle_pair(g, c[(start + t) % n], c[(start + t + 1) % n], edge[(start + t) % n]);
}

/* Insert position z among the options of the cycle, cheapest first. */
static void add_option(const struct cycles *s, struct odd *o, int z)
{
    int at = o->options < MAX_OPTIONS ? o->options++ : MAX_OPTIONS;

    while (at > 0 && s->rest[o->first + o->option[at - 1]] > s->rest[o->first + z]) {
        if (at < MAX_OPTIONS)
            o->option[at] = o->option[at - 1];
        at--;
    }
    if (at < MAX_OPTIONS)
        o->option[at] = z;
}

static void keep_odd(struct cycles *s, int n)
{
    struct odd *o = &s->odds[s->odd_count++];
    const float *edge = s->edge + s->used;
    double rest = 0;

    *o = (struct odd){.first = s->used, .count = n, .cost = WORK_NEVER * 4};
    for (int t = 1; t < n; t += 2)
        rest += (double)edge[t];
    /* Two further on, one pair goes and another comes: n such steps visit everybody. */
    for (int step = 0, z = 0; step < n; step++, z = (z + 2) % n) {
        double total = rest + (double)s->g->alone[s->tasks[s->used + z]];

        s->rest[s->used + z] = (float)rest;
        if (total < (double)o->cost) {
            o->cost = (float)total;
            o->left = z;
        }
        add_option(s, o, z);
        rest += (double)edge[z] - (double)edge[(z + 1) % n];
    }
    s->used += n;
}

static void walk(struct cycles *s, const int *next, bool *seen)
{
    struct graph *g = s->g;

    for (int i = 0; i < g->tasks; i++) {
        int *c = s->tasks + s->used;
        int n = 0;

        if (seen[i])
            continue;
        for (int x = i; !seen[x]; x = next[x]) {
            seen[x] = true;
            c[n++] = x;
        }
        if (n == 1) {
            leave_alone(g, i);
            continue;
        }
        for (int t = 0; t < n; t++)
            s->edge[s->used + t] = graph_pair(g, c[t], c[(t + 1) % n], NULL);
        if (n % 2 == 0)
            split_even(g, c, s->edge + s->used, n);
        else
            keep_odd(s, n);
    }
}

static struct join best_join(const struct cycles *s, int a, int b)
{
    const struct odd *oa = &s->odds[a], *ob = &s->odds[b];
    struct join best = {0, a, b, -1, -1, 0};

    for (int p = 0; p < oa->options; p++) {
        for (int q = 0; q < ob->options; q++) {
            int x = oa->option[p], y = ob->option[q];
            int i = s->tasks[oa->first + x], j = s->tasks[ob->first + y];
            float most =
                oa->cost + ob->cost - s->rest[oa->first + x] - s->rest[ob->first + y];
            float cost;

            if (most - work_least(s->g->w, i, j) <= best.saving)
                continue; /* not even on the best type */
            cost = graph_pair(s->g, i, j, NULL);
            if (most - cost > best.saving) {
                best.saving = most - cost;
                best.x = x;
                best.y = y;
                best.cost = cost;
            }
        }
    }
    return best;
}

static int by_saving(const void *a, const void *b)
{
    const struct join *x = a, *y = b;

    if (x->saving != y->saving)
        return x->saving > y->saving ? -1 : 1;
    if (x->a != y->a)
        return x->a < y->a ? -1 : 1;
    return x->b < y->b ? -1 : x->b > y->b;
}

static void join_window(struct cycles *s, int from, int to)
{
    int n = to - from, count = 0;
    size_t mark = arena_mark(s->g->w->arena);
    struct join *joins = arena_array(s->g->w->arena, struct join, n * (n + 1) / 2 + 1);

    for (int a = from; a < to; a++)
        for (int b = a + 1; b < to; b++) {
            struct join j = best_join(s, a, b);

            if (j.x >= 0)
                joins[count++] = j;
        }
    qsort(joins, (size_t)count, sizeof(*joins), by_saving);
    for (int q = 0; q < count; q++) {
        struct odd *a = &s->odds[joins[q].a], *b = &s->odds[joins[q].b];

        if (a->joined || b->joined)
            continue;
        a->joined = b->joined = true;
        a->left = joins[q].x;
        b->left = joins[q].y;
        pair_up(s->g, s->tasks[a->first + a->left], s->tasks[b->first + b->left],
                joins[q].cost);
    }
    arena_release(s->g->w->arena, mark);
}

static void settle_odd(struct cycles *s, const struct odd *o)
{
    const int *c = s->tasks + o->first;

    if (!o->joined)
        leave_alone(s->g, c[o->left]);
    for (int t = 1; t < o->count; t += 2) {
        int at = (o->left + t) % o->count;

        settle_pair(s->g, c[at], c[(at + 1) % o->count], s->edge[o->first + at]);
    }
}

/* Sets g->mate and g->cost. */
static void cycles_to_pairs(struct graph *g, const int *next)
{
    struct arena *arena = g->w->arena;
    size_t mark = arena_mark(arena);
    struct cycles s = {.g = g};
    bool *seen = arena_array(arena, bool, g->tasks + 1);

    memset(seen, 0, (size_t)g->tasks * sizeof(bool));
    s.tasks = arena_array(arena, int, g->tasks + 1);
    s.edge = arena_array(arena, float, g->tasks + 1);
    s.rest = arena_array(arena, float, g->tasks + 1);
    s.odds = arena_array(arena, struct odd, g->tasks / 3 + 1);
    walk(&s, next, seen);
    for (int from = 0; from < s.odd_count; from += JOIN_WINDOW)
        join_window(&s, from,
                    from + JOIN_WINDOW < s.odd_count ? from + JOIN_WINDOW : s.odd_count);
    for (int o = 0; o < s.odd_count; o++)
        settle_odd(&s, &s.odds[o]);
    arena_release(arena, mark);
}

/* ---- the auction ------------------------------------------------------------------- */

/* Past this many bids a task the increment doubles: an end in any case. */
#define BIDS_A_TASK 40

struct auction {
    int tasks;
    int *start; /* (tasks + 1) */
    int *to;    /* edges both ways, first one to itself */
    float *cost;
    double *row;     /* (tasks) dual of the bidder */
    double *column;  /* (tasks) dual of the partner bid for */
    int *partner_of; /* (tasks) bidder -> partner; -1: still bidding */
    int *bidder_of;  /* (tasks) partner -> bidder */
};

/* Edges are kept by whoever found them; the auction needs them at both ends.  One that
 * both ends found stands twice, which does no harm. */
static void load_edges(struct auction *a, const struct graph *g)
{
    struct arena *arena = g->w->arena;
    int *at = arena_array(arena, int, a->tasks + 1);

    memset(at, 0, ((size_t)a->tasks + 1) * sizeof(int));
    for (int i = 0; i < a->tasks; i++) {
        const struct graph_edge *e = &g->edges[(size_t)i * (size_t)g->width];

        at[i] += 1 + g->count[i];
        for (int q = 0; q < g->count[i]; q++)
            at[e[q].to]++;
    }
    a->start = arena_array(arena, int, a->tasks + 1);
    a->start[0] = 0;
    for (int i = 0; i < a->tasks; i++) {
        a->start[i + 1] = a->start[i] + at[i];
        at[i] = a->start[i];
    }
    a->to = arena_array(arena, int, a->start[a->tasks]);
    a->cost = arena_array(arena, float, a->start[a->tasks]);
    for (int i = 0; i < a->tasks; i++) {
        a->to[at[i]] = i;
        a->cost[at[i]++] = 2 * g->alone[i];
    }
    for (int i = 0; i < a->tasks; i++) {
        const struct graph_edge *e = &g->edges[(size_t)i * (size_t)g->width];

        for (int q = 0; q < g->count[i]; q++) {
            a->to[at[i]] = e[q].to;
            a->cost[at[i]++] = e[q].cost;
            a->to[at[e[q].to]] = i;
            a->cost[at[e[q].to]++] = e[q].cost;
        }
    }
}

static void auction_init(struct auction *a, const struct graph *g)
{
    struct arena *arena = g->w->arena;

    a->tasks = g->tasks;
    load_edges(a, g);
    a->row = arena_array(arena, double, a->tasks);
    a->column = arena_array(arena, double, a->tasks);
    a->partner_of = arena_array(arena, int, a->tasks);
    a->bidder_of = arena_array(arena, int, a->tasks);
    for (int i = 0; i < a->tasks; i++) {
        a->column[i] = g->w->pi[i];
        a->row[i] = 0;
        a->partner_of[i] = a->bidder_of[i] = -1;
    }
}

struct bid {
    double best, second;
    int partner;
};

static struct bid look(const struct auction *a, int i)
{
    struct bid b = {1e30, 1e30, -1};

    for (int e = a->start[i]; e < a->start[i + 1]; e++) {
        int j = a->to[e];
        double c = (double)a->cost[e] - a->column[j];

        if (c < b.best) {
            if (j != b.partner)
                b.second = b.best;
            b.best = c;
            b.partner = j;
        } else if (c < b.second && j != b.partner) {
            b.second = c;
        }
    }
    if (b.second > 1e29)
        b.second = b.best;
    return b;
}

/* Give every task its best partner if nobody has it yet; the rest must bid. */
static int first_come(struct auction *a, int *queue)
{
    int waiting = 0;

    for (int i = 0; i < a->tasks; i++) {
        struct bid b = look(a, i);

        a->row[i] = b.best;
        if (a->bidder_of[b.partner] < 0) {
            a->partner_of[i] = b.partner;
            a->bidder_of[b.partner] = i;
        } else {
            queue[waiting++] = i;
        }
    }
    return waiting;
}

static void run_bids(struct auction *a, int *queue, int waiting, double increment)
{
    long bids = 0;
    int head = 0;

    while (waiting > 0) {
        int i = queue[head], loser, tail;
        struct bid b = look(a, i);

        head = head + 1 == a->tasks ? 0 : head + 1;
        waiting--;
        if (++bids > (long)BIDS_A_TASK * a->tasks) {
            bids = 0;
            increment *= 2;
        }
        a->column[b.partner] -= b.second - b.best + increment;
        a->row[i] = b.second + increment;
        loser = a->bidder_of[b.partner];
        a->partner_of[i] = b.partner;
        a->bidder_of[b.partner] = i;
        if (loser < 0)
            continue;
        a->partner_of[loser] = -1;
        tail = head + waiting;
        queue[tail >= a->tasks ? tail - a->tasks : tail] = loser;
        waiting++;
    }
}

void matching_run(struct graph *g, double increment_watts)
{
    struct arena *arena = g->w->arena;
    size_t mark = arena_mark(arena);
    struct auction a;
    int *queue = arena_array(arena, int, g->tasks);
    int waiting;

    auction_init(&a, g);
    waiting = first_come(&a, queue);
    run_bids(&a, queue, waiting, increment_watts);
    for (int i = 0; i < g->tasks; i++)
        g->w->pi[i] = (float)(0.5 * (a.row[i] + a.column[i]));
    cycles_to_pairs(g, a.partner_of);
    arena_release(arena, mark);
}
