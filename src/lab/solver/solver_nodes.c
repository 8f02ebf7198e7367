/* solver_nodes.c - see solver_nodes.h
 *
 * First the nodes: for each type enough of them, cheapest a device first, where staying
 * jobs count as savings.  Then the devices: pinned jobs, jobs that stay, gangs side by
 * side, the rest into the gaps. */
#include "lab/solver/solver_nodes.h"

#include "lab/solver/finish_plan.h"
#include "lab/solver/problem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the tasks of a gang side by side on one node ---------------------------------- */

/* holder (devices): index of the solution's device on it, or -1; kept up to date. */

#define MAX_TASKS 256

/* Solution devices that hold tasks of job j. */
static int members_of(const struct solution *s, int j, int *members)
{
    int count = 0;

    for (int i = 0; i < s->device_count && count < MAX_TASKS; i++)
        if (solution_device_has(&s->devices[i], j))
            members[count++] = i;
    return count;
}

static int type_of(const struct problem *p, const struct solution_device *d)
{
    return p->variants[d->variant].type;
}

static void place(struct solution *s, int *holder, int i, int device)
{
    s->devices[i].device = device;
    holder[device] = i;
}

/* Seat members that have no device on free ones of node n; false, and nothing done, when
 * there are too few. */
static bool seat_on(const struct problem *p, struct solution *s, int *holder, int n,
                    const int *members, int count)
{
    const struct problem_node *node = &p->nodes[n];
    int chosen[MAX_TASKS];

    for (int m = 0; m < count; m++) {
        chosen[m] = -1;
        for (int d = node->first_device;
             d < node->first_device + node->device_count && chosen[m] < 0; d++) {
            bool taken = holder[d] >= 0 || p->devices[d].closed ||
                         p->devices[d].type != type_of(p, &s->devices[members[m]]);

            for (int q = 0; q < m; q++)
                taken = taken || chosen[q] == d;
            if (!taken)
                chosen[m] = d;
        }
        if (chosen[m] < 0)
            return false;
    }
    for (int m = 0; m < count; m++)
        place(s, holder, members[m], chosen[m]);
    return true;
}

static int free_devices(const struct problem *p, const int *holder, int n)
{
    const struct problem_node *node = &p->nodes[n];
    int count = 0;

    for (int d = node->first_device; d < node->first_device + node->device_count; d++)
        count += holder[d] < 0 && !p->devices[d].closed;
    return count;
}

/* Gangs none of whose devices has a place yet: onto the wanted node they fill best, if
 * one has room. */
static void gather_new_gangs(const struct problem *p, struct solution *s, int *holder,
                             const bool *wanted)
{
    for (int j = 0; j < p->job_count; j++) {
        int tasks = p->classes[p->jobs[j].class_id].devices;
        int members[MAX_TASKS], count;
        bool seated = false;

        if (tasks < 2 || s->state[j] != SOLUTION_SERVED)
            continue;
        count = members_of(s, j, members);
        for (int m = 0; m < count; m++)
            seated = seated || s->devices[members[m]].device >= 0;
        /* The fullest node that still has room comes first. */
        for (int room = count; room <= MAX_TASKS && !seated; room++) {
            bool larger = false;

            for (int n = 0; n < p->node_count && !seated; n++) {
                int left = wanted[n] ? free_devices(p, holder, n) : 0;

                larger = larger || left > room;
                if (left == room)
                    seated = seat_on(p, s, holder, n, members, count);
            }
            if (!larger)
                break;
        }
    }
}

/* Rate of job j on one of its devices, with its own factors and those of its mates. */
static double rate_on(const struct problem *p, const struct solution_device *d, int j)
{
    int count = solution_device_jobs(d), t = type_of(p, d);
    float rate[PROBLEM_MAX_SHARE] = {0}, watts = 0;
    double own = 0, drag = 1;

    problem_rates(p, d->variant, d->jobs, count, rate, &watts);
    for (int e = 0; e < count; e++)
        if (d->jobs[e] == j)
            own = (double)rate[e];
        else
            drag *= (double)p->drag[d->jobs[e]];
    return own * drag * (double)p->speed[(size_t)j * (size_t)p->type_count + (size_t)t];
}

static double margin_of(const struct problem *p, const struct solution *s, int j,
                        const int *members, int count)
{
    const struct problem_class *c = &p->classes[p->jobs[j].class_id];
    double least = INFINITY, margin;
    bool spread = false;

    for (int m = 0; m < count; m++) {
        const struct solution_device *d = &s->devices[members[m]];

        least = fmin(least, rate_on(p, d, j));
        spread = spread || p->devices[d->device].node !=
                               p->devices[s->devices[members[0]].device].node;
    }
    margin = least * (spread ? c->spread : 1);
    return p->jobs[j].need > 0 ? margin / p->jobs[j].need : margin;
}

static bool movable(const struct problem *p, const struct solution *s, int i)
{
    for (int e = 0; e < PROBLEM_MAX_SHARE; e++) {
        int j = s->devices[i].jobs[e];

        if (j >= 0 && (p->jobs[j].pinned || p->classes[p->jobs[j].class_id].devices > 1))
            return false;
    }
    return true;
}

/* Device on node n that member m of job j could have: free, or held by somebody who can
 * change places with it. */
static int exchange(const struct problem *p, const struct solution *s, const int *holder,
                    int n, int m, int j)
{
    const struct problem_node *node = &p->nodes[n];

    for (int d = node->first_device; d < node->first_device + node->device_count; d++) {
        if (p->devices[d].closed || p->devices[d].type != type_of(p, &s->devices[m]))
            continue;
        if (holder[d] < 0)
            return d;
        if (!solution_device_has(&s->devices[holder[d]], j) && movable(p, s, holder[d]))
            return d;
    }
    return -1;
}

static bool gather_on(const struct problem *p, struct solution *s, int *holder, int n,
                      int j, const int *members, int count)
{
    for (int m = 0; m < count; m++) {
        int from = s->devices[members[m]].device, to;

        if (p->devices[from].node == n)
            continue;
        to = exchange(p, s, holder, n, members[m], j);
        if (to < 0)
            return false; /* places exchanged so far are as good as before */
        holder[from] = -1;
        if (holder[to] >= 0)
            place(s, holder, holder[to], from);
        place(s, holder, members[m], to);
    }
    return true;
}

static void take_out(const struct problem *p, struct solution *s, int *holder, int j)
{
    finish_remove_job(p, s, j);
    for (int d = 0; d < p->device_count; d++)
        holder[d] = -1;
    for (int i = 0; i < s->device_count; i++)
        holder[s->devices[i].device] = i;
}

/* Gangs that lie on several nodes and are too slow there: exchange places with others
 * until they are on one node; those for which that fails are taken out, unserved. */
static void gather_needy_gangs(const struct problem *p, struct solution *s, int *holder)
{
    for (int j = 0; j < p->job_count; j++) {
        int members[MAX_TASKS], count;
        bool pinned = p->jobs[j].pinned && p->now[p->jobs[j].first_task] >= 0;

        if (p->classes[p->jobs[j].class_id].devices < 2 ||
            s->state[j] != SOLUTION_SERVED || pinned)
            continue;
        count = members_of(s, j, members);
        for (int n = 0; n < p->node_count; n++) {
            if (margin_of(p, s, j, members, count) >= 1 - 1e-5)
                break;
            gather_on(p, s, holder, n, j, members, count);
        }
        if (margin_of(p, s, j, members, count) < 1 - 1e-5)
            take_out(p, s, holder, j);
    }
}

/* ---- nodes ------------------------------------------------------------------------- */

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
