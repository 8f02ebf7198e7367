/* solver_nodes.c - see solver_nodes.h
 *
 * First the nodes: for each type enough of them, cheapest a device first, where staying
 * jobs count as savings.  Then the devices: pinned jobs, jobs that stay, gangs side by
 * side, the rest into the gaps. */
#include "lab/solver/solver_nodes.h"

#include "lab/solver/gather.h"

#include <stdlib.h>
#include <string.h>

struct plan_nodes {
    const struct problem *p;
    struct arena *arena;
    struct solution *s;
    int *holder;  /* (devices) index into s->devices; -1: free */
    bool *wanted; /* (nodes) to be awake */
};

struct choice {
    double cost; /* a device, staying jobs taken off */
    int node;
    int devices;
};

static int by_cost(const void *a, const void *b)
{
    const struct choice *x = a, *y = b;

    if (x->cost != y->cost)
        return x->cost < y->cost ? -1 : 1;
    return x->node < y->node ? -1 : x->node > y->node;
}

static bool always_awake(const struct problem *p, int n)
{
    return !p->sleep || !p->nodes[n].may_sleep;
}

/* Device a job of this solution device is on now and could stay on; -1: none.  side says
 * which of its jobs. */
static int present_device(const struct problem *p, const struct solution_device *d,
                          int side)
{
    int type = p->variants[d->variant].type, job = d->jobs[side];
    int first;

    if (job < 0)
        return -1;
    first = p->jobs[job].first_task;
    for (int e = 0; e < p->classes[p->jobs[job].class_id].devices; e++) {
        int at = p->now[first + e];

        if (at >= 0 && p->devices[at].type == type && !p->devices[at].closed)
            return at;
    }
    return -1;
}

/* The member that is pinned; -1: none is. */
static int pinned_side(const struct plan_nodes *x, const struct solution_device *d)
{
    for (int side = 0; side < PROBLEM_MAX_SHARE && d->jobs[side] >= 0; side++)
        if (x->p->jobs[d->jobs[side]].pinned)
            return side;
    return -1;
}

/* Watts saved by keeping node n, for the jobs that could stay there. */
static double *stay_savings(struct plan_nodes *x)
{
    const struct problem *p = x->p;
    double *savings = arena_array(x->arena, double, p->node_count + 1);

    memset(savings, 0, ((size_t)p->node_count + 1) * sizeof(double));
    for (int i = 0; i < x->s->device_count; i++) {
        const struct solution_device *d = &x->s->devices[i];

        for (int side = 0; side < PROBLEM_MAX_SHARE; side++) {
            int at = present_device(p, d, side);

            if (at >= 0)
                savings[p->devices[at].node] += p->move_watts;
            if (at >= 0 && p->jobs[d->jobs[side]].pinned)
                x->wanted[p->devices[at].node] = true;
        }
    }
    return savings;
}

static int open_devices(const struct problem *p, int n, int type)
{
    const struct problem_node *node = &p->nodes[n];
    int count = 0;

    for (int d = node->first_device; d < node->first_device + node->device_count; d++)
        count += p->devices[d].type == type && !p->devices[d].closed;
    return count;
}

static void choose_for_type(struct plan_nodes *x, int type, int needed,
                            const double *savings)
{
    const struct problem *p = x->p;
    size_t mark = arena_mark(x->arena);
    struct choice *choices = arena_array(x->arena, struct choice, p->node_count + 1);
    int count = 0;

    for (int n = 0; n < p->node_count; n++) {
        const struct problem_node *node = &p->nodes[n];
        int devices = open_devices(p, n, type);
        double cost;

        if (devices == 0)
            continue;
        if (x->wanted[n] || always_awake(p, n)) {
            x->wanted[n] = true;
            needed -= devices;
            continue;
        }
        cost = node->host_watts - node->sleep_watts +
               node->device_count * /* all idle */
                   p->types[type].idle_watts;
        cost += (node->awake ? 0 : node->wake_watts) - savings[n];
        choices[count++] = (struct choice){cost / devices, n, devices};
    }
    qsort(choices, (size_t)count, sizeof(*choices), by_cost);
    for (int c = 0; c < count && needed > 0; c++) {
        x->wanted[choices[c].node] = true;
        needed -= choices[c].devices;
    }
    arena_release(x->arena, mark);
}

static void choose_nodes(struct plan_nodes *x)
{
    const struct problem *p = x->p;
    const double *savings = stay_savings(x);
    int *needed = arena_array(x->arena, int, p->type_count);

    memset(needed, 0, (size_t)p->type_count * sizeof(int));
    for (int i = 0; i < x->s->device_count; i++)
        needed[p->variants[x->s->devices[i].variant].type]++;
    for (int t = 0; t < p->type_count; t++)
        choose_for_type(x, t, needed[t], savings);
}

static bool claim(struct plan_nodes *x, int i, int device)
{
    if (device < 0 || x->holder[device] >= 0 || !x->wanted[x->p->devices[device].node])
        return false;
    x->holder[device] = i;
    x->s->devices[i].device = device;
    return true;
}

/* A gang has several devices it could stay on: the first that nobody has yet. */
static bool claim_present(struct plan_nodes *x, int i, int side)
{
    const struct problem *p = x->p;
    const struct solution_device *d = &x->s->devices[i];
    int type = p->variants[d->variant].type, job = d->jobs[side];

    for (int e = 0; job >= 0 && e < p->classes[p->jobs[job].class_id].devices; e++) {
        int at = p->now[p->jobs[job].first_task + e];

        if (at >= 0 && p->devices[at].type == type && !p->devices[at].closed &&
            claim(x, i, at))
            return true;
    }
    return false;
}

/* The device that all members sit on now; -1: there is none. */
static int common_device(const struct plan_nodes *x, const struct solution_device *d)
{
    int at = present_device(x->p, d, 0);

    for (int side = 1; side < PROBLEM_MAX_SHARE && d->jobs[side] >= 0; side++)
        if (present_device(x->p, d, side) != at)
            return -1;
    return at;
}

/* Pins first, then those that stay as they are, then any that can stay. */
static void keep_in_place(struct plan_nodes *x)
{
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < x->s->device_count; i++) {
            struct solution_device *d = &x->s->devices[i];
            int pinned = pinned_side(x, d);

            if (d->device >= 0 || (round == 0 && pinned < 0))
                continue;
            if (round == 0)
                claim_present(x, i, pinned);
            if (round == 1 && d->jobs[1] >= 0)
                claim(x, i, common_device(x, d));
            for (int side = 0; side < PROBLEM_MAX_SHARE && round == 2; side++)
                if (claim_present(x, i, side))
                    break;
        }
}

/* Nodes with the least room first: what is left stays together for gangs to come. */
static void fill_gaps(struct plan_nodes *x)
{
    const struct problem *p = x->p;
    int *next = arena_array(x->arena, int, p->type_count);

    memset(next, 0, (size_t)p->type_count * sizeof(int));
    for (int i = 0; i < x->s->device_count; i++) {
        struct solution_device *d = &x->s->devices[i];
        int type = p->variants[d->variant].type;

        if (d->device >= 0)
            continue;
        while (next[type] < p->device_count &&
               (p->devices[next[type]].type != type || p->devices[next[type]].closed ||
                !claim(x, i, next[type])))
            next[type]++;
    }
}

static void settle_awake(struct plan_nodes *x)
{
    const struct problem *p = x->p;

    for (int n = 0; n < p->node_count; n++)
        x->s->awake[n] = always_awake(p, n);
    for (int i = 0; i < x->s->device_count; i++)
        x->s->awake[p->devices[x->s->devices[i].device].node] = true;
}

void nodes_assign(const struct problem *p, struct arena *arena, struct solution *s)
{
    size_t mark = arena_mark(arena);
    struct plan_nodes x = {.p = p, .arena = arena, .s = s};

    if (p->node_count == 0)
        return;
    x.holder = arena_array(arena, int, p->device_count);
    x.wanted = arena_array(arena, bool, p->node_count);
    memset(x.wanted, 0, (size_t)p->node_count * sizeof(bool));
    for (int d = 0; d < p->device_count; d++)
        x.holder[d] = -1;
    for (int i = 0; i < s->device_count; i++)
        s->devices[i].device = -1;
    choose_nodes(&x);
    keep_in_place(&x);
    gather_new_gangs(p, s, x.holder, x.wanted);
    fill_gaps(&x);
    gather_needy_gangs(p, s, x.holder);
    settle_awake(&x);
    arena_release(arena, mark);
}
