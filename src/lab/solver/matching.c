/* matching.c - the auction that pairs tasks: solve.c runs it on the graph, seating.c
 * takes the pairs */
#include "lab/solver/matching.h"

#include "lab/solver/cycles.h"

#include <string.h>

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
