/* seating.c - pairs and single tasks to types: solve.c runs it after the matching, the
 * search goes on from there */
#include "lab/solver/seating.h"

#include <stdlib.h>
#include <string.h>

#define MAX_ROUNDS 400

struct seat_device {
    int type; /* -1: none */
    int task[2];
};

struct regret {
    double cost; /* of leaving for the next best type */
    int device;
    int other; /* -1: there is none */
};

struct seating {
    const struct work *w;
    int count;
    struct seat_device *devices;
    float *cost; /* (devices, types) */
    int use[PROBLEM_MAX_TYPES];
    double price[PROBLEM_MAX_TYPES];
    struct regret *regrets;
};

static void choose_cheapest(struct seating *s, int d)
{
    const struct work *w = s->w;
    struct seat_device *dev = &s->devices[d];
    float *cost = &s->cost[(size_t)d * (size_t)w->types];
    float best = WORK_NEVER;

    for (int t = 0; t < w->types; t++) {
        cost[t] = dev->task[1] < 0 ? work_alone(w, t, dev->task[0], NULL)
                                   : work_pair(w, t, dev->task[0], dev->task[1], NULL);
        if (cost[t] < best) {
            best = cost[t];
            dev->type = t;
        }
    }
    if (dev->type >= 0)
        s->use[dev->type]++;
}

static struct regret next_best(const struct seating *s, int d)
{
    const float *cost = &s->cost[(size_t)d * (size_t)s->w->types];
    int now = s->devices[d].type;
    struct regret r = {(double)WORK_NEVER, d, -1};
    double best = (double)WORK_NEVER;

    for (int t = 0; t < s->w->types; t++) {
        if (t == now || cost[t] >= WORK_NEVER || (double)cost[t] + s->price[t] >= best)
            continue;
        best = (double)cost[t] + s->price[t];
        r.other = t;
        r.cost = best - (double)cost[now] - s->price[now];
    }
    return r;
}

static int by_regret(const void *a, const void *b)
{
    const struct regret *x = a, *y = b;

    if (x->cost != y->cost)
        return x->cost < y->cost ? -1 : 1;
    return x->device < y->device ? -1 : x->device > y->device;
}

/* Send away from type a the devices that mind least. */
static void relieve(struct seating *s, int a, int excess)
{
    double rise = 0;
    int n = 0;

    for (int d = 0; d < s->count; d++)
        if (s->devices[d].type == a)
            s->regrets[n++] = next_best(s, d);
    qsort(s->regrets, (size_t)n, sizeof(*s->regrets), by_regret);
    for (int q = 0; q < excess; q++) {
        const struct regret *r = &s->regrets[q];

        s->devices[r->device].type = r->other;
        s->use[a]--;
        if (r->other >= 0) {
            s->use[r->other]++;
            rise = r->cost;
        }
    }
    s->price[a] += rise + 1e-3;
}

static void balance(struct seating *s)
{
    for (int round = 0; round < MAX_ROUNDS; round++) {
        int worst = -1, excess = 0;

        for (int t = 0; t < s->w->types; t++)
            if (s->use[t] - s->w->devices[t] > excess) {
                excess = s->use[t] - s->w->devices[t];
                worst = t;
            }
        if (worst < 0)
            return;
        relieve(s, worst, excess);
    }
    for (int d = 0; d < s->count; d++) { /* it went round in circles: cut */
        int t = s->devices[d].type;

        if (t >= 0 && s->use[t] > s->w->devices[t]) {
            s->use[t]--;
            s->devices[d].type = -1;
        }
    }
}

static void put_all(const struct seating *s, struct search *to)
{
    for (int d = 0; d < s->count; d++) {
        const struct seat_device *dev = &s->devices[d];

        if (dev->type >= 0) {
            search_put(to, dev->type, dev->task[0], dev->task[1]);
            continue;
        }
        search_park(to, dev->task[0]);
        if (dev->task[1] >= 0)
            search_park(to, dev->task[1]);
    }
}

void seating_run(const struct graph *g, struct search *to)
{
    struct seating s = {.w = g->w};
    size_t mark = arena_mark(g->w->arena);
    size_t n = (size_t)g->tasks;

    s.devices = arena_array(g->w->arena, struct seat_device, n);
    s.cost = arena_array(g->w->arena, float, n *(size_t)g->w->types);
    s.regrets = arena_array(g->w->arena, struct regret, n);
    for (int i = 0; i < g->tasks; i++) {
        if (g->mate[i] >= 0 && g->mate[i] < i)
            continue;
        s.devices[s.count] = (struct seat_device){-1, {i, g->mate[i]}};
        choose_cheapest(&s, s.count++);
    }
    balance(&s);
    put_all(&s, to);
    arena_release(g->w->arena, mark);
}
