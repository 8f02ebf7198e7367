/* planner_runs.c - who runs in a play of planner_forecast.c, at which rate, and who ends
 * next
 *
 * Of ten thousand jobs few end before the one that is asked for starts.  So each job is
 * asked once when it ends at the earliest, in any play, and enters a play when that time
 * has come, or somebody comes or goes beside it. */
#include "loop/optimize/planner_private.h"

#include "loop/estimate/lengths.h"

#include <math.h>
#include <stdlib.h>

/* Jobs that begin a play for a piece of its work. */
#define JOBS_A_WORK 50

/* What the job does where it sits, with whoever is beside it. */
static double believed_rate(struct planner_state *s, int job)
{
    const struct planner_job *j = &s->jobs.items[job];
    int type = s->in->cluster->devices[j->device].type;
    const int *m = planner_members(s, j->device);
    int other = m[0] == job ? m[1] : m[0];

    if (j->status->job.kind == JOB_INFERENCE)
        return 1; /* it ends when its time is over */
    if (other < 0)
        return j->kind->alone[type].expected;
    return (double)prediction_table_pair_on(s->table, j->kind, s->jobs.items[other].kind,
                                            type)
        .expected[0];
}

static double part_of(uint64_t bits)
{
    return (double)(bits >> 11) * 0x1p-53;
}

/* A number between 0 and 1 for a job in a play: over the plays those of a job are spread
 * evenly, in an order of its own. */
static double draw(uint64_t job, int play)
{
    uint64_t bits = rng_mix(job, 1);
    uint64_t at = (uint64_t)play * (1 + bits % (PLANNER_PLAYS - 1)) % PLANNER_PLAYS;

    return fmod(part_of(bits) + (double)at / PLANNER_PLAYS, 1);
}

/* The least of these. */
static double least_draw(uint64_t job)
{
    return fmod(part_of(rng_mix(job, 1)), 1.0 / PLANNER_PLAYS);
}

static double rate_of(struct planner_state *s, int job)
{
    const struct planner_job *j = &s->jobs.items[job];

    return j->paced && j->status->job.kind == JOB_TRAINING ? j->status->pace.rate
                                                           : believed_rate(s, job);
}

static double left_of(const struct planner_state *s, int job, double rate, double share)
{
    const struct planner_job *j = &s->jobs.items[job];

    if (!lengths_known(s->in->lengths, &j->status->job))
        return INFINITY;
    return lengths_left(s->in->lengths, j->status, rate, share, s->in->now_s);
}

static double end_s(const struct planner_run *run)
{
    return run->at_s + run->left / fmax(run->rate, 1e-9);
}

static struct planner_run *add(struct planner_state *s, int job, double rate, int play,
                               double at_s)
{
    double share = draw(s->jobs.items[job].status->job.id, play);

    s->forecast_work++;
    s->starts.items[job].run = (int)s->runs.count;
    vec_push(&s->runs, (struct planner_run){.job = job,
                                            .left = left_of(s, job, rate, share),
                                            .rate = rate,
                                            .at_s = at_s});
    return &s->runs.items[s->runs.count - 1];
}

void planner_runs_add(struct planner_state *s, int job, int play, double at_s)
{
    add(s, job, rate_of(s, job), play, at_s);
}

/* The job among the runs; NULL: it has just come, or gone. */
static struct planner_run *run_of(struct planner_state *s, int job, int play)
{
    const struct planner_start *start = &s->starts.items[job];

    if (start->run == PLANNER_RUN_LATER)
        return add(s, job, start->rate, play, s->in->now_s);
    return start->run >= 0 ? &s->runs.items[start->run] : NULL;
}

void planner_runs_drop(struct planner_state *s, size_t at)
{
    s->starts.items[s->runs.items[at].job].run = PLANNER_RUN_NONE;
    s->runs.items[at] = s->runs.items[--s->runs.count];
    if (at < s->runs.count)
        s->starts.items[s->runs.items[at].job].run = (int)at;
}

static int by_end(const void *a, const void *b)
{
    const struct planner_earliest *x = a, *y = b;

    if (x->at_s < y->at_s || x->at_s > y->at_s)
        return x->at_s < y->at_s ? -1 : 1;
    return x->job - y->job;
}

/* Before the first play. */
void planner_runs_list(struct planner_state *s)
{
    double now_s = s->in->now_s;

    vec_clear(&s->earliest);
    vec_reserve(&s->starts, s->jobs.count);
    for (int i = 0; i < (int)s->jobs.count; i++) {
        struct planner_run run = {.job = i, .at_s = now_s};

        if (s->jobs.items[i].device < 0)
            continue;
        s->starts.items[i].rate = run.rate = rate_of(s, i);
        run.left = left_of(s, i, run.rate, least_draw(s->jobs.items[i].status->job.id));
        if (isfinite(run.left))
            vec_push(&s->earliest, (struct planner_earliest){i, end_s(&run)});
    }
    if (s->earliest.count > 1)
        qsort(s->earliest.items, s->earliest.count, sizeof(*s->earliest.items), by_end);
    s->forecast_work = (long)s->jobs.count;
}

/* Whoever is on the devices goes on at another rate: a neighbour has come or gone. */
void planner_runs_change(struct planner_state *s, const int *devices, int count, int play,
                         double at_s)
{
    for (int k = 0; k < count; k++)
        for (int e = 0; e < 2; e++) {
            int job = planner_members(s, devices[k])[e];
            struct planner_run *run;

            if (job < 0 || s->jobs.items[job].device != devices[k])
                continue;
            run = run_of(s, job, play);
            if (!run || run->at_s >= at_s)
                continue;
            run->left = fmax(0, run->left - run->rate * (at_s - run->at_s));
            run->at_s = at_s;
            run->rate = believed_rate(s, job);
        }
}

static void look_at_end(const struct planner_state *s, size_t run, size_t *next,
                        double *at_s)
{
    if (end_s(&s->runs.items[run]) < *at_s) {
        *at_s = end_s(&s->runs.items[run]);
        *next = run;
    }
}

/* The next end among runs, if it is not after this time; the number of runs: nobody's is
 * known. */
size_t planner_runs_next(struct planner_state *s, int play, double until_s, double *at_s)
{
    size_t next = SIZE_MAX;

    *at_s = INFINITY;
    for (size_t i = 0; i < s->runs.count; i++)
        look_at_end(s, i, &next, at_s);
    for (; s->later < s->earliest.count; s->later++) {
        const struct planner_earliest *e = &s->earliest.items[s->later];

        if (e->at_s > fmin(until_s, *at_s))
            break;
        if (s->starts.items[e->job].run != PLANNER_RUN_LATER)
            continue;
        run_of(s, e->job, play);
        look_at_end(s, s->runs.count - 1, &next, at_s);
    }
    return next;
}

void planner_runs_begin(struct planner_state *s)
{
    vec_clear(&s->runs);
    for (int i = 0; i < (int)s->jobs.count; i++)
        s->starts.items[i].run =
            s->jobs.items[i].device >= 0 ? PLANNER_RUN_LATER : PLANNER_RUN_NONE;
    s->later = 0;
    s->forecast_work += (long)s->jobs.count / JOBS_A_WORK;
}
