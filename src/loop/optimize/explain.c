/* explain.c - see explain.h */
#include "loop/optimize/explain.h"

#include "loop/optimize/caps.h"
#include "loop/optimize/work.h"

#include <stdlib.h>
#include <string.h>

struct explanation {
    struct work w;
    int job, here;  /* task of the job, index of its device; -1: unserved */
    double leaving; /* change of cost when it leaves where it is */
    int *task_of;   /* (jobs) */
    int use[PROBLEM_MAX_TYPES];
    struct explain_option *all;
    int count;
};

static int type_of(const struct problem *p, const struct solution_device *d)
{
    return p->variants[d->variant].type;
}

static void find_present(struct explanation *x, const struct solution *s, int job)
{
    const struct problem *p = x->w.p;

    x->here = -1;
    x->leaving = -p->jobs[job].penalty;
    for (int d = 0; d < s->device_count; d++) {
        const struct solution_device *dev = &s->devices[d];
        int t = type_of(p, dev), other;

        x->use[t]++;
        if (!solution_device_has(dev, job))
            continue;
        x->here = d;
        other = dev->jobs[0] == job ? dev->jobs[1] : dev->jobs[0];
        if (other < 0)
            x->leaving = -(double)work_alone(&x->w, t, x->job, NULL);
        else
            x->leaving = (double)work_alone(&x->w, t, x->task_of[other], NULL) -
                         (double)work_pair(&x->w, t, x->job, x->task_of[other], NULL);
    }
}

static void add(struct explanation *x, int type, int other, double cost, bool room)
{
    bool slow = cost >= (double)WORK_NEVER;

    x->all[x->count++] =
        (struct explain_option){type, other, slow ? 0 : cost + x->leaving,
                                slow   ? EXPLAIN_TOO_SLOW
                                : room ? EXPLAIN_POSSIBLE
                                       : EXPLAIN_TAKEN};
}

static void consider_all(struct explanation *x, const struct solution *s)
{
    const struct problem *p = x->w.p;
    int here = x->here < 0 ? -1 : type_of(p, &s->devices[x->here]);

    for (int t = 0; t < x->w.types; t++) {
        bool alone_here = t == here && s->devices[x->here].jobs[1] < 0;

        if (!alone_here)
            add(x, t, -1, (double)work_alone(&x->w, t, x->job, NULL),
                x->use[t] < p->types[t].devices);
    }
    for (int d = 0; d < s->device_count; d++) {
        const struct solution_device *dev = &s->devices[d];
        int t = type_of(p, dev), other = x->task_of[dev->jobs[0]];
        float pair;

        if (d == x->here || dev->jobs[1] >= 0 || other < 0)
            continue;
        pair = work_pair(&x->w, t, x->job, other, NULL);
        if (pair < WORK_NEVER)
            pair -= work_alone(&x->w, t, other, NULL);
        add(x, t, dev->jobs[0], (double)pair, true);
    }
}

static int best_first(const void *a, const void *b)
{
    const struct explain_option *x = a, *y = b;

    if (x->verdict != y->verdict)
        return x->verdict < y->verdict ? -1 : 1;
    if (x->more_watts != y->more_watts)
        return x->more_watts < y->more_watts ? -1 : 1;
    if (x->type != y->type)
        return x->type < y->type ? -1 : 1;
    return x->other < y->other ? -1 : x->other > y->other;
}

int explain_job(const struct problem *p, struct arena *arena, const struct solution *s,
                int job, struct explain_option *options, int most)
{
    size_t mark = arena_mark(arena);
    struct explanation x = {0};
    int count;

    if (p->classes[p->jobs[job].class_id].devices > 1)
        return 0;
    work_build(&x.w, p, arena, 1, NULL, 0);
    caps_prune(&x.w);
    x.w.move_watts = 0;
    x.task_of = arena_array(arena, int, p->job_count + 1);
    for (int i = x.w.tasks - 1; i >= 0; i--)
        x.task_of[x.w.job[i]] = i;
    x.job = x.task_of[job];
    x.all = arena_array(arena, struct explain_option, s->device_count + p->type_count);
    find_present(&x, s, job);
    consider_all(&x, s);
    qsort(x.all, (size_t)x.count, sizeof(*x.all), best_first);
    count = x.count < most ? x.count : most;
    memcpy(options, x.all, (size_t)count * sizeof(*options));
    arena_release(arena, mark);
    return count;
}
