/* gains.c - lab/advise/ asks by user and by day, lab/report/ by kind of request */
#include "lab/sim/gains.h"

#include "base/mem.h"
#include "lab/traces/real_schedule.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define HOUR_S       3600.0
#define JOULES_A_KWH 3.6e6

const char *const gains_lot_names[] = {"gains", "loses", "same"};

/* A group's sums in one run. */
struct gains_sums {
    double jobs, services;
    double gpu_s;
    double took_was_s, took_s; /* from submission to end */
    double wait_was_s, wait_s;
    double joules_was, joules;
    double counted_was_s, violated_was_s, counted_s, violated_s;
};

struct gains_span {
    double start_s, end_s;
};

static struct gains_span span_was(const struct gains_question *q, size_t job,
                                  const struct sim_job_result *was)
{
    if (q->real)
        return (struct gains_span){q->real->stays[job].start_s,
                                   q->real->stays[job].end_s};
    return (struct gains_span){was->arrival_s + was->wait_s, was->end_s};
}

static double or_zero(double x)
{
    return isnan(x) ? 0 : x;
}

static void add_job(struct gains_sums *s, struct gains_span span,
                    const struct sim_job_result *was, const struct sim_job_result *now)
{
    s->jobs++;
    s->services += was->service;
    s->wait_was_s += or_zero(span.start_s - was->arrival_s);
    s->wait_s += or_zero(now->wait_s);
    s->joules_was += was->joules;
    s->joules += now->joules;
    s->counted_was_s += was->counted_s;
    s->violated_was_s += was->violated_s;
    s->counted_s += now->counted_s;
    s->violated_s += now->violated_s;
    s->gpu_s += or_zero(span.end_s - span.start_s) * was->devices;
    if (isnan(span.end_s) || isnan(now->end_s)) /* refused: nothing to compare */
        return;
    s->took_was_s += span.end_s - was->arrival_s;
    s->took_s += now->end_s - was->arrival_s;
}

static double percent_less(double was, double now)
{
    return was > 0 ? 100 * (1 - now / was) : 0;
}

static double percent_of(double part, double whole)
{
    return whole > 0 ? 100 * part / whole : 0;
}

static int by_gpu_hours(const void *a, const void *b)
{
    const struct gains_group *x = a, *y = b;

    if (x->gpu_h != y->gpu_h)
        return x->gpu_h > y->gpu_h ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* Of one group: its sums are `runs` apart by `groups`. */
static struct gains_group compare(const struct gains_sums *sums, size_t groups, int runs)
{
    struct gains_group g = {0};
    double *values = mem_array(double, 3 * (size_t)runs);
    double services = 0, wait_was_s = 0, wait_s = 0;

    for (int r = 0; r < runs; r++) {
        const struct gains_sums *s = &sums[(size_t)r * groups];
        double broken_was = percent_of(s->violated_was_s, s->counted_was_s);
        double broken = percent_of(s->violated_s, s->counted_s);

        g.jobs += s->jobs / runs;
        g.gpu_h += s->gpu_s / HOUR_S / runs;
        g.kwh_was += s->joules_was / JOULES_A_KWH / runs;
        g.broken_was += broken_was / runs;
        g.broken += broken / runs;
        services += s->services / runs;
        wait_was_s += s->wait_was_s / runs;
        wait_s += s->wait_s / runs;
        values[r] = percent_less(s->took_was_s, s->took_s);
        values[runs + r] = percent_less(s->joules_was, s->joules);
        values[2 * runs + r] = broken_was - broken;
    }
    g.sooner = sweep_mean_of(values, runs);
    g.saved = sweep_mean_of(values + runs, runs);
    g.kept = sweep_mean_of(values + 2 * runs, runs);
    g.services = services > g.jobs / 2;
    if (g.jobs > 0) {
        g.wait_was_h = wait_was_s / g.jobs / HOUR_S;
        g.wait_h = wait_s / g.jobs / HOUR_S;
    }
    free(values);
    return g;
}

struct gains_group *gains_of(const struct gains_question *q, size_t *count)
{
    int runs = q->now->seeds;
    struct gains_sums *sums = mem_array(struct gains_sums, q->groups * (size_t)runs);
    struct gains_group *found = mem_array(struct gains_group, q->groups);

    for (int r = 0; r < runs; r++) {
        const struct sim_result *was = &q->was->runs[r], *now = &q->now->runs[r];

        for (size_t i = 0; i < was->jobs && i < now->jobs; i++) {
            const struct sim_job_result *job = &was->job_results[i];
            int group = q->group(q->ctx, i, job);

            if (group >= 0)
                add_job(&sums[(size_t)r * q->groups + (size_t)group], span_was(q, i, job),
                        job, &now->job_results[i]);
        }
    }
    *count = 0;
    for (size_t g = 0; g < q->groups; g++) {
        struct gains_group group = compare(&sums[g], q->groups, runs);

        group.name = q->name(q->ctx, (int)g);
        group.number = (int)g;
        if (group.jobs > 0)
            found[(*count)++] = group;
    }
    if (*count > 0)
        qsort(found, *count, sizeof(*found), by_gpu_hours);
    free(sums);
    return found;
}

enum gains_lot gains_lot(const struct gains_group *g)
{
    struct sweep_mean what = g->services ? g->kept : g->sooner;
    double room = isnan(what.half_width) ? 0 : what.half_width;

    if (what.mean > room)
        return GAINS_GAINS;
    return what.mean < -room ? GAINS_LOSES : GAINS_SAME;
}
