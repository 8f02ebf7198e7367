/* planner_forecast.c - what planner.c offers to a job that finds no place now: who goes
 * before it, and when it is expected to start
 *
 * The queue is played forward from the plan of the offer: jobs end when their work is
 * done at the rate they have, whoever waits takes what they leave in the order and by the
 * rules of a round, and any place when its grace time is used up.  Moves are not
 * foreseen.  A device that is being left is free when that must be over.  Nobody knows
 * how much work a job has left (estimate/lengths.h): with many jobs some end long before
 * what is the best guess of each, so the queue is played several times, with other draws
 * of what is left, and told is the start that most plays come near to.  The draws follow
 * from the ids of jobs: the same question has the same answer. */
#include "loop/optimize/planner_private.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Further ahead a forecast is worth nothing, and costs time. */
#define FORECAST_STEPS_MOST 400
/* On a large cluster a forecast ends after so much work, a microsecond or two each, but
 * not before so many plays: whoever asks for a quote waits for it. */
#define WORK_MOST   20000
#define PLAYS_LEAST 5
/* Nodes a gang looks at for one of that work. */
#define NODES_A_WORK 40
/* Starts so near to each other, as a share of the wait, are told as one. */
#define NEAR   0.2
#define NEAR_S 30.0

static const int *devices_of(const struct planner_state *s, int job, int *count)
{
    const struct seat *seat = &s->offered.seats[s->jobs.items[job].seat];

    *count = seat->device_count;
    return s->offered.devices + seat->first;
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

static void seat(struct planner_state *s, int job, const int *devices, int play,
                 double at_s)
{
    const struct planner_job *j = &s->jobs.items[job];
    int count = j->status->job.devices;

    planner_release(s, job);
    planner_attach(s, job, devices, count);
    plan_seat(&s->offered, j->seat, devices, count);
    planner_runs_change(s, devices, count, play, at_s);
    planner_runs_add(s, job, play, at_s);
}

/* A seat among the devices that have just been left, or for a gang anywhere. */
static bool take_left(struct planner_state *s, int job, const int *devices, int count,
                      int play, double at_s)
{
    struct planner_seats found;

    if (s->jobs.items[job].status->job.devices > 1) {
        s->forecast_work += s->in->cluster->node_count / NODES_A_WORK;
        if (!planner_find_seats(s, job, &found) ||
            planner_rather_waits(s, job, found.cost, at_s))
            return false;
        seat(s, job, found.devices, play, at_s);
        return true;
    }
    for (int k = 0; k < count; k++) {
        double cost = planner_add_cost(s, job, devices[k], PLANNER_FIRST_SHARE);

        if (cost < PLANNER_IMPOSSIBLE && !planner_rather_waits(s, job, cost, at_s)) {
            seat(s, job, &devices[k], play, at_s);
            return true;
        }
    }
    return false;
}

/* These devices have room: whoever waits may come. */
static void fill_left(struct planner_state *s, const int *devices, int count, int play,
                      double at_s)
{
    int failed[LOOP_NODE_GROUPS] = {0};

    for (size_t i = 0; i < s->order.count; i++) {
        int job = s->order.items[i],
            *times = &failed[s->jobs.items[job].status->job.group];

        if (*times < PLANNER_WAITING_TRIES)
            *times += !take_left(s, job, devices, count, play, at_s);
    }
}

/* A job ends, and others may come. */
static void play_end(struct planner_state *s, size_t at, int play, double at_s)
{
    int job = s->runs.items[at].job, count;
    const int *left = devices_of(s, job, &count);
    int devices[LOOP_MAX_GANG];

    memcpy(devices, left, (size_t)count * sizeof(*devices));
    planner_runs_drop(s, at);
    planner_detach(s, job, devices, count);
    planner_runs_change(s, devices, count, play, at_s);
    fill_left(s, devices, count, play, at_s);
}

/* When nobody is on it any more who was told to go; INFINITY: nobody was, or it is of no
 * use all the same. */
static double left_s(const struct planner_state *s, int device, double now_s)
{
    const struct device *d = &s->in->cluster->devices[device];
    double at_s = now_s;

    if (s->usable.items[device] || d->leaving_count == 0 || d->failed || d->drained)
        return INFINITY;
    for (const struct device_leaving *l = cluster_leaving(s->in->cluster, device, NULL);
         l; l = cluster_leaving(s->in->cluster, device, l))
        at_s = fmax(at_s, l->until_s);
    return at_s;
}

/* Whoever was on it has gone, and gives back its part of the host. */
static void become_usable(struct planner_state *s, int device)
{
    const struct device *d = &s->in->cluster->devices[device];

    s->usable.items[device] = true;
    for (const struct device_leaving *l = cluster_leaving(s->in->cluster, device, NULL);
         l; l = cluster_leaving(s->in->cluster, device, l))
        host_room_take(&s->node_left.items[d->node], l->room, -1);
}

/* The device that is left next; -1: none is. */
static int next_left(const struct planner_state *s, double now_s, double *at_s)
{
    int next = -1;

    *at_s = INFINITY;
    vec_each (const int, device, &s->left_soon) {
        double when_s = left_s(s, *device, now_s);

        if (when_s < *at_s) {
            *at_s = when_s;
            next = *device;
        }
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

/* When the job starts in this play; infinite: not that anybody knew. */
static double play_start_s(struct planner_state *s, int asked, int play)
{
    double now_s = s->in->now_s;

    drop_seated(s);
    vec_each (const int, device, &s->left_soon) /* as before the last play */
        s->usable.items[*device] = cluster_device_usable(s->in->cluster, *device);
    planner_runs_begin(s);
    for (int step = 0; step < FORECAST_STEPS_MOST; step++) {
        double ends_s, gives_in_s, empty_s;
        int device = next_left(s, now_s, &empty_s);
        int job = next_to_give_in(s, now_s, &gives_in_s);
        size_t end = planner_runs_next(s, play, fmin(gives_in_s, empty_s), &ends_s);
        struct planner_seats found;

        now_s = fmin(fmin(ends_s, gives_in_s), empty_s);
        if (!isfinite(now_s))
            break;
        if (empty_s <= now_s) {
            become_usable(s, device);
            fill_left(s, &device, 1, play, now_s);
        } else if (ends_s <= gives_in_s)
            play_end(s, end, play, now_s);
        else if (planner_find_seats(s, job, &found))
            seat(s, job, found.devices, play, now_s);
        drop_seated(s);
        if (s->jobs.items[asked].device >= 0)
            return now_s;
    }
    return INFINITY;
}

/* All that a play changes, as it was before. */
struct before_play {
    int *members, *node_jobs, *node_empty, *order, *device;
    size_t waiting, used;
    struct seat *seats;
    struct planner_hold *holds;
    struct host_room *node_left;
};

static struct before_play keep(const struct planner_state *s)
{
    struct before_play b = {.waiting = s->order.count, .used = s->offered.used};

    b.members = mem_dup(s->members.items, s->members.count, sizeof(int));
    b.node_jobs = mem_dup(s->node_jobs.items, s->node_jobs.count, sizeof(int));
    b.node_empty = mem_dup(s->node_empty.items, s->node_empty.count, sizeof(int));
    b.node_left = mem_dup(s->node_left.items, s->node_left.count, sizeof(*b.node_left));
    b.order = mem_dup(s->order.items, s->order.count, sizeof(int));
    b.seats = mem_dup(s->offered.seats, s->offered.seat_count, sizeof(struct seat));
    b.holds = mem_dup(s->holds.items, s->holds.count, sizeof(*b.holds));
    b.device = mem_array(int, s->jobs.count + 1);
    for (size_t i = 0; i < s->jobs.count; i++)
        b.device[i] = s->jobs.items[i].device;
    return b;
}

static void put_back(struct planner_state *s, const struct before_play *b)
{
    memcpy(s->members.items, b->members, s->members.count * sizeof(int));
    memcpy(s->node_jobs.items, b->node_jobs, s->node_jobs.count * sizeof(int));
    memcpy(s->node_empty.items, b->node_empty, s->node_empty.count * sizeof(int));
    memcpy(s->node_left.items, b->node_left, s->node_left.count * sizeof(*b->node_left));
    memcpy(s->order.items, b->order, b->waiting * sizeof(int));
    memcpy(s->offered.seats, b->seats, s->offered.seat_count * sizeof(struct seat));
    memcpy(s->holds.items, b->holds, s->holds.count * sizeof(*b->holds));
    s->order.count = b->waiting;
    s->offered.used = b->used;
    for (size_t i = 0; i < s->jobs.count; i++) {
        s->jobs.items[i].device = b->device[i];
        s->jobs.items[i].held = false;
    }
    vec_each (const struct planner_hold, hold, &s->holds)
        if (hold->job >= 0)
            s->jobs.items[hold->job].held = true;
}

static void forget(struct before_play *b)
{
    free(b->members);
    free(b->node_jobs);
    free(b->node_empty);
    free(b->node_left);
    free(b->order);
    free(b->device);
    free(b->seats);
    free(b->holds);
}

static int by_time(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* The start that the most plays come near to, each counts by how near it comes; NaN: most
 * plays have none.  A wait often ends when its grace time does: what lies between that
 * and an early end of somebody's happens least of all. */
static double most_likely_s(double *starts_s, int plays, double now_s)
{
    double best_s = NAN, most = 0;

    qsort(starts_s, (size_t)plays, sizeof(*starts_s), by_time);
    if (!isfinite(starts_s[plays / 2]))
        return NAN;
    for (int i = 0; i < plays && isfinite(starts_s[i]); i++) {
        double near = 0;

        for (int k = 0; k < plays; k++) {
            double wait_s = fmin(starts_s[i], starts_s[k]) - now_s;
            double off_s = fabs(starts_s[k] - starts_s[i]);

            near += fmax(0, 1 - off_s / fmax(NEAR_S, NEAR * wait_s));
        }
        if (near > most) {
            most = near;
            best_s = starts_s[i];
        }
    }
    return best_s;
}

static bool has_done_enough(const struct planner_state *s, int plays)
{
    return s->in->cluster->device_count > PLANNER_LARGE && plays >= PLAYS_LEAST &&
           s->forecast_work > WORK_MOST;
}

/* NaN: not known. */
static double forecast_start_s(struct planner_state *s, int asked)
{
    struct before_play before = keep(s);
    double starts_s[PLANNER_PLAYS];
    int plays = 0;

    vec_clear(&s->left_soon);
    for (int d = 0; d < s->in->cluster->device_count; d++)
        if (s->in->cluster->devices[d].leaving_count > 0)
            vec_push(&s->left_soon, d);
    planner_runs_list(s);
    while (plays < PLANNER_PLAYS && !has_done_enough(s, plays)) {
        starts_s[plays] = play_start_s(s, asked, plays);
        plays++;
        put_back(s, &before);
    }
    forget(&before);
    return most_likely_s(starts_s, plays, s->in->now_s);
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
