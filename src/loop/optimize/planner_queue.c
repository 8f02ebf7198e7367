/* planner_queue.c - who waits, in which order, and which devices are kept for whom: the
 * first thing planner_load.c and planner.c ask in a round and in an offer
 *
 * The order is queue_order.h's.  A gang needs several devices at once, which whoever is
 * smaller would take one by one for ever.  So the first who cannot start have devices
 * held for them: those believed to be free the soonest.  Others come there only if they
 * are expected to be gone by then (backfill), and nobody is moved there.  The same holds
 * for a job on one device whose grace time is over. */
#include "loop/optimize/planner_private.h"

#include "loop/cluster.h"
#include "loop/estimate/lengths.h"
#include "loop/queue_order.h"
#include "loop/requirement.h"

#include <math.h>
#include <stdlib.h>

/* Devices are held for the first, and for so many in all who have waited for long. */
#define HELD_MOST   4
#define HELD_WAIT_S 7200.0
/* What is told of sizes is often wrong: a job is let in before another only if there is
 * time for so many times what it is expected to take. */
#define BACKFILL_ROOM 2.0
#define STAYS_SHARE   0.8
/* A gang that would span nodes waits for one that holds all of it where it is done by so
 * much of the time the other takes. */
#define SPREAD_ROOM 0.9
/* Of gangs of one size so many are looked at in a round: where the first finds no place
 * the others find none either, and others wait behind them.  Jobs bound to other nodes
 * have a queue of their own. */
#define ALIKE_MOST 8
/* A long queue is looked at from its head: so many at a time. */
#define WAITING_MOST 64
#define ORDER_MOST   512

/* ---- order ---- */

/* Mark the head of the queue among those who wait, which are in this order. */
static void choose_head(const struct optimize_input *in, const size_t *order,
                        size_t count, bool *shown)
{
    int alike[LOOP_NODE_GROUPS][LOOP_MAX_GANG + 1] = {0}, taken[LOOP_NODE_GROUPS] = {0};

    for (size_t i = 0; i < count; i++) {
        const struct job *job = &in->jobs[order[i]]->job;

        if (taken[job->group] >= WAITING_MOST ||
            (job->devices > 1 && alike[job->group][job->devices]++ >= ALIKE_MOST))
            continue;
        shown[order[i]] = true;
        taken[job->group]++;
    }
}

void planner_show(struct planner_state *s, const struct optimize_input *in)
{
    bool *shown = mem_array(bool, in->job_count + 1);
    size_t *order = mem_array(size_t, in->job_count + 1);
    int *place = mem_array(int, in->job_count + 1);
    size_t count = queue_order(in, ORDER_MOST, order), waiting = 0;

    choose_head(in, order, count, shown);
    vec_clear(&s->shown_jobs);
    vec_clear(&s->seats);
    vec_clear(&s->shown_stamps);
    for (size_t i = 0; i < in->job_count; i++) {
        waiting += optimize_input_waits(in, i);
        if (!optimize_input_waits(in, i) || shown[i]) {
            place[i] = (int)s->shown_jobs.count;
            vec_push(&s->shown_jobs, in->jobs[i]);
            vec_push(&s->seats, i);
            if (in->stamps)
                vec_push(&s->shown_stamps, in->stamps[i]);
        }
    }
    vec_clear(&s->queue);
    for (size_t i = 0; i < count; i++)
        if (shown[order[i]])
            vec_push(&s->queue, place[order[i]]);
    s->queue_cut = waiting > s->queue.count;
    free(shown);
    free(order);
    free(place);
    s->shown = *in;
    s->shown.jobs = s->shown_jobs.items;
    s->shown.stamps = in->stamps ? s->shown_stamps.items : NULL;
    s->shown.job_count = s->shown_jobs.count;
    s->shown.settings = &s->settings;
}

void planner_list_waiting(struct planner_state *s)
{
    vec_clear(&s->order);
    vec_each (const int, job, &s->queue) {
        s->jobs.items[*job].rank = (int)s->order.count;
        vec_push(&s->order, *job);
    }
}

/* ---- devices held ---- */

/* Until whoever is on the device is expected to have gone, from now on; infinite: it is
 * held for somebody else. */
static double free_in_s(const struct planner_state *s, int job, int device)
{
    const int *m = planner_members(s, device);
    double longest = 0;

    if (!s->usable.items[device] ||
        (s->holds.items[device].job >= 0 && s->holds.items[device].job != job))
        return INFINITY;
    for (int e = 0; e < 2 && m[e] >= 0; e++)
        longest = fmax(longest, planner_left_s(s, &s->jobs.items[m[e]]));
    return longest;
}

/* How long a job that waits, or runs, would be on a device, and with little doubt not
 * longer; infinite: nothing is known of that. */
static double stays_s(const struct planner_state *s, int job, int type)
{
    const struct planner_job *j = &s->jobs.items[job];

    if (!lengths_known(s->in->lengths, &j->status->job))
        return INFINITY;
    return lengths_left_s(s->in->lengths, j->status, j->kind->alone[type].expected,
                          STAYS_SHARE, s->in->now_s);
}

bool planner_may_use(const struct planner_state *s, int job, int device)
{
    const struct planner_hold *hold = &s->holds.items[device];
    const struct planner_job *j = &s->jobs.items[job];

    if (!planner_reaches(s, job, s->in->cluster->devices[device].node))
        return false;
    if (hold->job < 0 || hold->job == job)
        return true;
    /* Who goes before waits for nobody behind; a promise at stake goes before all. */
    if (j->status->state == JOB_WAITING ? j->rank < s->jobs.items[hold->job].rank
                                        : j->suffers)
        return true;
    return BACKFILL_ROOM * stays_s(s, job, s->in->cluster->devices[device].type) <=
           hold->until_s - s->in->now_s;
}

void planner_release(struct planner_state *s, int job)
{
    if (!s->jobs.items[job].held)
        return;
    s->jobs.items[job].held = false;
    vec_each (struct planner_hold, hold, &s->holds)
        if (hold->job == job)
            hold->job = -1;
}

static void hold(struct planner_state *s, int job, const int *devices, int count,
                 double until_s)
{
    for (int k = 0; k < count; k++)
        s->holds.items[devices[k]] = (struct planner_hold){job, until_s};
    s->jobs.items[job].held = true;
}

struct soon {
    int device;
    double free_s;
};

static int by_time(const void *a, const void *b)
{
    const struct soon *x = a, *y = b;

    if (x->free_s < y->free_s || x->free_s > y->free_s)
        return x->free_s < y->free_s ? -1 : 1;
    return x->device - y->device;
}

/* Could the job have this device beside those already taken for it, if nobody else was on
 * the node?  What can never be is not waited for. */
static bool could_ever(const struct planner_state *s, int job, int device,
                       const int *taken, int count)
{
    const struct device *devices = s->in->cluster->devices;
    int node = devices[device].node, beside = 1;

    for (int k = 0; k < count; k++)
        beside += devices[taken[k]].node == node;
    return planner_reaches(s, job, node) && planner_room_ever(s, job, node) >= beside;
}

struct soon_among {
    int type;
    int first, count; /* devices */
};

/* Of these devices the ones of a type that are free the soonest; when all of them are,
 * and a little for each that is not free yet. */
static double soonest_of(const struct planner_state *s, int job, struct soon_among among,
                         struct planner_seats *out)
{
    int wanted = s->jobs.items[job].status->job.devices, taken = 0;
    vec_of(struct soon) soon = {0};
    double when = INFINITY, sum = 0;

    for (int d = among.first; d < among.first + among.count; d++) {
        double free_s = s->in->cluster->devices[d].type == among.type
                            ? free_in_s(s, job, d)
                            : INFINITY;

        if (isfinite(free_s))
            vec_push(&soon, (struct soon){d, free_s});
    }
    if (soon.count > 1)
        qsort(soon.items, soon.count, sizeof(*soon.items), by_time);
    for (size_t i = 0; i < soon.count && taken < wanted; i++) {
        if (!could_ever(s, job, soon.items[i].device, out->devices, taken))
            continue;
        out->devices[taken++] = soon.items[i].device;
        sum += soon.items[i].free_s;
        when = soon.items[i].free_s;
    }
    vec_free(&soon);
    if (taken < wanted)
        return INFINITY;
    out->cost = when + 1e-3 * sum;
    return when;
}

/* On the node that has as many of the type the soonest; infinite: none has. */
static double soonest_on_one(const struct planner_state *s, int job, int type,
                             struct planner_seats *best)
{
    const struct cluster *c = s->in->cluster;
    int wanted = s->jobs.items[job].status->job.devices;
    double when = INFINITY;

    best->cost = INFINITY;
    for (int n = 0; n < c->node_count; n++) {
        struct planner_seats found = {.cost = INFINITY};
        double at;

        if (c->nodes[n].device_count < wanted)
            continue;
        at = soonest_of(
            s, job,
            (struct soon_among){type, c->nodes[n].first_device, c->nodes[n].device_count},
            &found);
        if (found.cost < best->cost) {
            *best = found;
            when = at;
        }
    }
    return when;
}

/* On one node if one has as many of the type, else on any. */
static double soonest_on(const struct planner_state *s, int job, int type,
                         struct planner_seats *best)
{
    double when = soonest_on_one(s, job, type, best);

    if (isinf(when))
        when = soonest_of(
            s, job, (struct soon_among){type, 0, s->in->cluster->device_count}, best);
    return when;
}

bool planner_awaits_node(const struct planner_state *s, int job, const int *devices)
{
    const struct cluster *c = s->in->cluster;
    const struct planner_job *j = &s->jobs.items[job];
    struct planner_seats seats;

    if (j->status->job.devices == 1 ||
        cluster_nodes_spanned(c, devices, j->status->job.devices) == 1)
        return false;
    for (int t = 0; t < c->type_count; t++) {
        double stays = stays_s(s, job, t);

        if (!requirement_allows_type(&j->status->job, t) ||
            j->kind->alone[t].fits < PREDICT_FITS_LEAST || isinf(stays) ||
            j->kind->alone[t].rate < j->need)
            continue;
        if (soonest_on_one(s, job, t, &seats) + stays <
            SPREAD_ROOM * stays / j->kind->spread)
            return true;
    }
    return false;
}

/* A type on which it keeps its requirement goes before any other. */
static void hold_soonest(struct planner_state *s, int job)
{
    const struct planner_job *j = &s->jobs.items[job];
    struct planner_seats best = {.cost = INFINITY}, found;
    bool best_keeps = false;
    double until_s = 0;

    for (int t = 0; t < s->in->cluster->type_count; t++) {
        bool keeps = j->kind->alone[t].rate >= j->need;
        double when_s;

        if (!requirement_allows_type(&j->status->job, t) ||
            j->kind->alone[t].fits < PREDICT_FITS_LEAST || (best_keeps && !keeps))
            continue;
        when_s = soonest_on(s, job, t, &found);
        if (isfinite(when_s) && (found.cost < best.cost || (keeps && !best_keeps))) {
            best = found;
            best_keeps = keeps;
            until_s = s->in->now_s + when_s;
        }
    }
    if (isfinite(best.cost))
        hold(s, job, best.devices, j->status->job.devices, until_s);
}

static bool deserves_hold(const struct planner_state *s, const struct job_status *status,
                          bool first)
{
    double wait_s = s->in->now_s - status->job.submitted_s;

    if (!first)
        return wait_s > HELD_WAIT_S;
    return status->job.devices > 1 || wait_s > s->settings.grace_s;
}

void planner_hold_nothing(struct planner_state *s)
{
    vec_clear(&s->holds);
    for (int d = 0; d < s->in->cluster->device_count; d++)
        vec_push(&s->holds, (struct planner_hold){.job = -1});
}

void planner_hold_devices(struct planner_state *s)
{
    int held = 0;

    planner_list_waiting(s);
    for (size_t i = 0; i < s->order.count && held < HELD_MOST; i++) {
        int job = s->order.items[i];
        struct planner_seats seats;

        if (!deserves_hold(s, s->jobs.items[job].status, held == 0))
            continue;
        if (planner_find_seats(s, job,
                               &seats) && /* it starts in this round, or rather waits */
            !planner_awaits_node(s, job, seats.devices))
            hold(s, job, seats.devices, s->jobs.items[job].status->job.devices,
                 s->in->now_s);
        else
            hold_soonest(s, job);
        held += s->jobs.items[job].held;
    }
}
