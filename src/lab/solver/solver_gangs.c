/* solver_gangs.c - gangs in the course of a solve: tightened before the search,
 * settled after it */
#include "lab/solver/solver_gangs.h"

#include "lab/solver/lp_bound.h"

#include <math.h>
#include <string.h>

/* Could the job meet its need anywhere at this part of its rate? */
static bool meets(const struct work *w, int i, double factor)
{
    const struct problem *p = w->p;

    for (int v = 0; v < w->variants; v++) {
        size_t at = (size_t)v * (size_t)w->classes + (size_t)w->cls[i];
        int t = p->variants[v].type;

        if (p->alone_rate[at] * factor >=
            (double)w->thr[(size_t)i * (size_t)w->types + (size_t)t])
            return true;
    }
    return false;
}

void gangs_tighten(struct work *w)
{
    const struct problem *p = w->p;

    if (!w->gangs || p->node_count == 0)
        return;
    for (int i = 0; i < w->tasks; i++) {
        const struct problem_class *c = &p->classes[w->cls[i]];

        if (c->devices < 2 || c->spread <= 0 || c->spread >= 1 || !meets(w, i, c->spread))
            continue;
        for (int t = 0; t < w->types; t++)
            w->thr[(size_t)i * (size_t)w->types + (size_t)t] /= (float)c->spread;
        w->need[i] /= (float)c->spread;
    }
}

double gangs_bound(struct work *w, double *proven)
{
    size_t mark = arena_mark(w->arena), n = (size_t)w->tasks * (size_t)w->types;
    float *tight = arena_array(w->arena, float, n + 1);
    double bound;

    memcpy(tight, w->thr, n * sizeof(float));
    for (int i = 0; i < w->tasks; i++)
        if (w->p->classes[w->cls[i]].devices > 1 && w->pin[i] < 0)
            work_refresh_task(w, i);
    bound = bound_from(w, w->pi, proven);
    memcpy(w->thr, tight, n * sizeof(float));
    arena_release(w->arena, mark);
    return bound;
}

static bool incomplete(const struct search *s, int first, int count)
{
    int placed = 0;

    for (int e = 0; e < count; e++) {
        int r = s->place[first + e];

        if (r < 0)
            return false; /* taken out before */
        placed += s->records[r].type >= 0;
    }
    return placed < count;
}

static int tasks_of(const struct search *s, int i)
{
    return s->w->p->classes[s->w->cls[i]].devices;
}

static void complete(struct search *s, int first, int count)
{
    for (int e = 0; e < count; e++)
        if (s->records[s->place[first + e]].type == SEARCH_PARKED)
            search_best(s, s->place[first + e]);
}

static void take_out(struct search *s, int first, int count)
{
    for (int e = 0; e < count; e++) {
        int r = s->place[first + e], type = s->records[r].type;
        int *task = s->records[r].task;
        int other = task[0] == first + e ? task[1] : task[0];

        search_drop(s, r);
        if (other < 0)
            continue;
        if (work_alone(s->w, type, other, NULL) < WORK_NEVER)
            search_put(s, type, other, -1);
        else
            search_park(s, other);
    }
}

/* The incomplete gang that hurts least to leave out; -1: all are complete. */
static int cheapest_incomplete(const struct search *s)
{
    int cheapest = -1;
    double least = INFINITY;

    for (int i = 0; i < s->w->tasks; i += tasks_of(s, i)) {
        double harm = (double)s->w->penalty[i] * tasks_of(s, i);

        if (harm < least && incomplete(s, i, tasks_of(s, i))) {
            least = harm;
            cheapest = i;
        }
    }
    return cheapest;
}

void gangs_settle(struct search *s)
{
    int first;

    if (!s->w->gangs)
        return;
    for (int i = 0; i < s->w->tasks; i += tasks_of(s, i))
        if (tasks_of(s, i) > 1 && incomplete(s, i, tasks_of(s, i)))
            complete(s, i, tasks_of(s, i));
    while ((first = cheapest_incomplete(s)) >= 0) {
        take_out(s, first, tasks_of(s, first));
        search_unpark(s);
    }
}
