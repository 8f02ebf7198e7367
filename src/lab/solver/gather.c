/* gather.c - gangs brought together: solver_nodes.c calls it when devices have been
 * given out */
#include "lab/solver/gather.h"

#include "lab/solver/finish_plan.h"

#include <math.h>

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

void gather_new_gangs(const struct problem *p, struct solution *s, int *holder,
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

void gather_needy_gangs(const struct problem *p, struct solution *s, int *holder)
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
