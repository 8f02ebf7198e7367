/* offers.c - see offers.h */
#include "loop/optimize/offers.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct book {
    const struct problem *p;
    const struct solution *s;
    const double *ends_s;
    int free[PROBLEM_MAX_TYPES];
    double *ends; /* (devices in use) scratch */
};

static double rate_alone(const struct problem *p, int job, int type)
{
    int v = p->types[type].first_variant;

    if (!(p->jobs[job].types >> type & 1))
        return 0;
    return (double)p->alone_rate[(size_t)v * (size_t)p->class_count +
                                 (size_t)p->jobs[job].class_id] *
           (double)p->speed[(size_t)job * (size_t)p->type_count + (size_t)type];
}

static double rate_beside(const struct problem *p, int job, int other, int v)
{
    int type = p->variants[v].type;

    if (!(p->jobs[job].types >> type & 1))
        return 0;
    return (double)p->pair_rate[problem_cell(p, v, p->jobs[job].class_id,
                                             p->jobs[other].class_id)] *
           (double)p->speed[(size_t)job * (size_t)p->type_count + (size_t)type] *
           (double)p->drag[other];
}

static void offer_rate(struct offer *o, double rate, int type, int beside)
{
    if (rate <= o->rate)
        return;
    o->rate = rate;
    o->rate_type = type;
    o->rate_beside = beside;
}

static void look_at_free(const struct book *b, struct offer *o)
{
    const struct problem *p = b->p;

    for (int t = 0; t < p->type_count; t++) {
        double rate = rate_alone(p, o->job, t);

        o->most_rate = fmax(o->most_rate, rate);
        if (b->free[t] == 0)
            continue;
        offer_rate(o, rate, t, -1);
        if (rate > 0 && rate >= p->jobs[o->job].need)
            o->devices += b->free[t];
    }
}

/* Beside somebody who is alone and would keep what it needs. */
static void look_at_shared(const struct book *b, struct offer *o)
{
    const struct problem *p = b->p;

    for (int d = 0; d < b->s->device_count && p->jobs[o->job].may_share; d++) {
        const struct solution_device *dev = &b->s->devices[d];
        int other = dev->jobs[0], t = p->variants[dev->variant].type;
        int v = p->types[t].first_variant;

        if (dev->jobs[1] >= 0 || !p->jobs[other].may_share ||
            rate_beside(p, other, o->job, v) < p->jobs[other].need ||
            rate_beside(p, other, o->job, v) <= 0)
            continue;
        offer_rate(o, rate_beside(p, o->job, other, v), t, other);
    }
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

/* When do enough devices that would do come free, if nobody else takes them? */
static double wait_for(const struct book *b, const struct offer *o, int wanted)
{
    const struct problem *p = b->p;
    int count = 0, missing = wanted - o->devices;

    if (missing <= 0)
        return 0;
    for (int d = 0; d < b->s->device_count && b->ends_s; d++) {
        const struct solution_device *dev = &b->s->devices[d];
        double ends = b->ends_s[dev->jobs[0]];

        if (dev->jobs[1] >= 0)
            ends = fmax(ends, b->ends_s[dev->jobs[1]]);
        if (isfinite(ends) &&
            rate_alone(p, o->job, p->variants[dev->variant].type) >= p->jobs[o->job].need)
            b->ends[count++] = ends;
    }
    if (count < missing)
        return INFINITY;
    qsort(b->ends, (size_t)count, sizeof(double), ascending);
    return b->ends[missing - 1];
}

static struct offer make(const struct book *b, int job)
{
    const struct problem *p = b->p;
    int wanted = p->classes[p->jobs[job].class_id].devices;
    struct offer o = {.job = job, .rate_type = -1, .rate_beside = -1};

    look_at_free(b, &o);
    if (wanted == 1)
        look_at_shared(b, &o);
    if (o.devices > wanted)
        o.devices = wanted;
    o.reason = b->s->state[job] == SOLUTION_HELD                 ? OFFER_HELD
               : o.most_rate < p->jobs[job].need || !o.most_rate ? OFFER_RATE
                                                                 : OFFER_CAPACITY;
    o.wait_s = o.reason == OFFER_CAPACITY ? wait_for(b, &o, wanted) : INFINITY;
    return o;
}

int offers_make(const struct problem *p, const struct solution *s, const double *ends_s,
                struct offer *offers, int most)
{
    struct book b = {.p = p, .s = s, .ends_s = ends_s};
    int count = 0;

    b.ends = mem_array(double, (size_t)s->device_count + 1);
    for (int t = 0; t < p->type_count; t++)
        b.free[t] = p->types[t].devices;
    for (int d = 0; d < s->device_count; d++)
        b.free[p->variants[s->devices[d].variant].type]--;
    for (int j = 0; j < p->job_count && count < most; j++)
        if (s->state[j] != SOLUTION_SERVED)
            offers[count++] = make(&b, j);
    free(b.ends);
    return count;
}
