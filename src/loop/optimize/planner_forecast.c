/* planner_forecast.c - what planner.c offers to a job that finds no place now: who goes
 * before it, and when it is expected to start
 *
 * The queue is played forward from the plan of the offer: jobs end when what is told of
 * their size is done at the rate they have, whoever waits takes what they leave in the
 * order and by the rules of a round, and any place when its grace time is used up.  A job
 * whose size was not told runs on; moves are not foreseen. */
#include "loop/optimize/planner_private.h"

#include <math.h>
#include <string.h>

/* Further ahead a forecast is worth nothing, and costs time. */
#define FORECAST_STEPS_MOST 400

static const int *devices_of(const struct planner_state *s, int job, int *count)
{
    const struct seat *seat = &s->offered.seats[s->jobs.items[job].seat];

    *count = seat->device_count;
    return s->offered.devices + seat->first;
}

/* What the job does where it sits, with whoever is beside it. */
static double believed_rate(struct planner_state *s, int job)
{
    const struct planner_job *j = &s->jobs.items[job];
    int type = s->in->cluster->devices[j->device].type;
    const int *m = planner_members(s, j->device);
    int other = m[0] == job ? m[1] : m[0];

    if (j->status->job.kind == JOB_INFERENCE)
        return 1; /* it ends when its time is over */
    if (other < 0 || j->status->job.devices > 1)
        return j->kind->alone[type].expected;
    return (double)prediction_table_pair_on(s->table, j->kind, s->jobs.items[other].kind,
                                            type)
        .expected[0];
}

static double work_left(const struct planner_state *s, const struct job_status *status)
{
    const struct job *job = &status->job;
    double since_s = status->started_s;

    if (job->kind == JOB_TRAINING)
        return job->total_steps > 0 ? fmax(0, job->total_steps - status->steps_done)
                                    : INFINITY;
    if (!(job->duration_s > 0))
        return INFINITY;
    return fmax(0, job->duration_s - (isnan(since_s) ? 0 : s->in->now_s - since_s));
}

static void add_run(struct planner_state *s, int job, double at_s)
{
    const struct planner_job *j = &s->jobs.items[job];
    struct planner_run run = {.job = job, .left = work_left(s, j->status), .at_s = at_s};

    run.rate = j->paced && j->status->job.kind == JOB_TRAINING ? j->status->pace.rate
                                                               : believed_rate(s, job);
    vec_push(&s->runs, run);
}

static double end_s(const struct planner_run *run)
{
    return run->at_s + run->left / fmax(run->rate, 1e-9);
}

/* Whoever is on the devices goes on at another rate: a neighbour has come or gone. */
static void change_rates(struct planner_state *s, const int *devices, int count,
                         double at_s)
{
    vec_each (struct planner_run, run, &s->runs)
        for (int k = 0; k < count; k++)
            if (s->jobs.items[run->job].device == devices[k] && run->at_s < at_s) {
                run->left = fmax(0, run->left - run->rate * (at_s - run->at_s));
                run->at_s = at_s;
                run->rate = believed_rate(s, run->job);
            }
}

/* Whoever has a seat waits no more. */
static void drop_seated(struct planner_state *s)
{
    size_t kept = 0;

    vec_each (const int, job, &s->order)
        if (s->jobs.items[*job].device < 0)
            s->order.items[kept++] = *job;
    s->order.count = kept;
}

static void seat(struct planner_state *s, int job, const int *devices, double at_s)
{
    const struct planner_job *j = &s->jobs.items[job];
    int count = j->status->job.devices;

    planner_release(s, job);
    planner_attach(s, job, devices, count);
    plan_seat(&s->offered, j->seat, devices, count);
    change_rates(s, devices, count, at_s);
    add_run(s, job, at_s);
}

/* A seat among the devices that have just been left, or for a gang anywhere. */
static bool take_left(struct planner_state *s, int job, const int *devices, int count,
                      double at_s)
{
    struct planner_seats found;

    if (s->jobs.items[job].status->job.devices > 1) {
        if (!planner_find_seats(s, job, &found) ||
            planner_rather_waits(s, job, found.cost, at_s))
            return false;
        seat(s, job, found.devices, at_s);
        return true;
    }
    for (int k = 0; k < count; k++) {
        double cost = planner_add_cost(s, job, devices[k], PLANNER_FIRST_SHARE);

        if (cost < PLANNER_IMPOSSIBLE && !planner_rather_waits(s, job, cost, at_s)) {
            seat(s, job, &devices[k], at_s);
            return true;
        }
    }
    return false;
}

/* A job ends, and others may come. */
static void play_end(struct planner_state *s, size_t at, double at_s)
{
    int job = s->runs.items[at].job, count, tries = PLANNER_WAITING_TRIES;
    const int *left = devices_of(s, job, &count);
    int devices[LOOP_MAX_GANG];

    memcpy(devices, left, (size_t)count * sizeof(*devices));
    s->runs.items[at] = s->runs.items[--s->runs.count];
    planner_detach(s, job, devices, count);
    change_rates(s, devices, count, at_s);
    for (size_t i = 0; i < s->order.count && tries > 0; i++)
        tries -= !take_left(s, s->order.items[i], devices, count, at_s);
}

/* The next end among runs; the number of runs: nobody's is known. */
static size_t next_end(const struct planner_state *s, double *at_s)
{
    size_t next = s->runs.count;

    *at_s = INFINITY;
    for (size_t i = 0; i < s->runs.count; i++)
        if (end_s(&s->runs.items[i]) < *at_s) {
            *at_s = end_s(&s->runs.items[i]);
            next = i;
        }
    return next;
}

/* The job that waits and takes any place next, from a time after this one; -1: none. */
static int next_to_give_in(const struct planner_state *s, double after_s, double *at_s)
{
    int next = -1;

    *at_s = INFINITY;
    vec_each (const int, job, &s->order) {
        double ends_s = planner_grace_ends_s(s, *job);

        if (ends_s > after_s && ends_s < *at_s) {
            *at_s = ends_s;
            next = *job;
        }
    }
    return next;
}

/* NaN: not known. */
static double forecast_start_s(struct planner_state *s, int asked)
{
    double now_s = s->in->now_s;

    vec_clear(&s->runs);
    drop_seated(s);
    for (int i = 0; i < (int)s->jobs.count; i++)
        if (s->jobs.items[i].device >= 0)
            add_run(s, i, now_s);
    for (int step = 0; step < FORECAST_STEPS_MOST; step++) {
        double ends_s, gives_in_s;
        size_t end = next_end(s, &ends_s);
        int job = next_to_give_in(s, now_s, &gives_in_s);
        struct planner_seats found;

        now_s = fmin(ends_s, gives_in_s);
        if (!isfinite(now_s))
            break;
        if (ends_s <= gives_in_s)
            play_end(s, end, now_s);
        else if (planner_find_seats(s, job, &found))
            seat(s, job, found.devices, now_s);
        drop_seated(s);
        if (s->jobs.items[asked].device >= 0)
            return now_s;
    }
    return NAN;
}

void planner_offer_later(struct planner_state *s, const struct optimize_input *in,
                         struct place_offer *offer)
{
    const struct job_status *asked = in->jobs[in->job_count - 1];
    struct planner_seats seats;
    int job = -1;

    offer->start_s = NAN;
    for (size_t i = 0; i < in->job_count - 1; i++) {
        const struct job_status *other = in->jobs[i];

        offer->ahead += other->state == JOB_WAITING &&
                        other->job.priority >= asked->job.priority &&
                        s->offered.seats[i].device_count == 0;
    }
    for (size_t i = 0; i < s->jobs.count; i++)
        if (s->jobs.items[i].status == asked)
            job = (int)i;
    if (job < 0)
        return; /* so many wait before it that no round looks at it yet */
    if (offer->reason == UNPLACED_RATE && planner_find_seats(s, job, &seats)) {
        offer->device_count = asked->job.devices;
        memcpy(offer->devices, seats.devices, sizeof(seats.devices));
    }
    if (offer->reason != UNPLACED_POLICY) /* when a limit on power gives room, nobody
                                             knows */
        offer->start_s = forecast_start_s(s, job);
}
