/* planner_preempt.c - running jobs are stopped for one that matters more and has waited
 * through its grace time; called by planner_place.c when no free place keeps what the job
 * was promised
 *
 * A promise goes before best effort, and where the operator says so a larger priority
 * before a smaller one (optimize_settings.preempt).  Nobody is stopped unless the job
 * then starts, where all requirements are believed to be kept; those are stopped who
 * matter least and lose the least work.  Whoever was stopped once is left alone for an
 * hour after it got devices again. */
#include "loop/optimize/planner_private.h"

#include "loop/requirement.h"

#include <math.h>
#include <stdlib.h>

#define PROTECTED_S 3600.0
/* Jobs a round looks for such a place. */
#define PREEMPTIONS_MOST 4
/* A step of priority, and a promise, against GPU-seconds of lost work. */
#define STEP_PRICE    1e9
#define PROMISE_PRICE 5e8
#define STEPS_MOST    1000.0

static bool has_promise(const struct job *job)
{
    return job->need.kind != NEED_BEST_EFFORT && !job->unpromised;
}

static bool may_stop(const struct planner_state *s, const struct planner_job *by,
                     const struct planner_job *victim)
{
    const struct job *a = &by->status->job, *v = &victim->status->job;
    bool protected = victim->status->preempted > 0 &&
                     s->in->now_s - victim->status->placed_s < PROTECTED_S;

    if (victim->status->state != JOB_RUNNING || victim->moved || victim->stopped ||
        !v->may_move || !s->settings.moves || protected || v->priority > a->priority)
        return false;
    if (v->need.kind == NEED_BEST_EFFORT && has_promise(a))
        return true;
    return s->settings.preempt == PREEMPT_PRIORITY && v->priority < a->priority;
}

/* What it costs to stop the job; infinite: it may not be. */
static double price_of(const struct planner_state *s, int by, int victim)
{
    const struct planner_job *b = &s->jobs.items[by], *v = &s->jobs.items[victim];
    double steps = STEPS_MOST + v->status->job.priority - b->status->job.priority;

    if (!may_stop(s, b, v))
        return INFINITY;
    return STEP_PRICE * fmax(1, steps) +
           (v->status->job.need.kind == NEED_BEST_EFFORT ? 0 : PROMISE_PRICE) +
           v->status->device_count * (s->settings.move_s + 1);
}

static void leave(struct planner_state *s, int victim)
{
    const struct job_status *status = s->jobs.items[victim].status;

    planner_detach(s, victim, status->devices, status->device_count);
}

static void come_back(struct planner_state *s, int victim)
{
    const struct job_status *status = s->jobs.items[victim].status;

    planner_attach(s, victim, status->devices, status->device_count);
}

/* ---- for a job on one device ---- */

struct stops {
    double price, cost;
    int device;
    int victims[2];
    int count;
};

/* One, the other or both of those on a device go. */
static void try_device(struct planner_state *s, int job, int device, struct stops *best)
{
    const int members[2] = {planner_members(s, device)[0], planner_members(s, device)[1]};

    for (unsigned set = 1; set < 4; set++) {
        struct stops stops = {.device = device};

        for (int e = 0; e < 2; e++)
            if (set >> e & 1) {
                stops.price += members[e] < 0 ? INFINITY : price_of(s, job, members[e]);
                stops.victims[stops.count++] = members[e];
            }
        if (!(stops.price < INFINITY) || stops.price > best->price)
            continue;
        for (int i = 0; i < stops.count; i++)
            leave(s, stops.victims[i]);
        stops.cost = planner_add_cost(s, job, device, PLANNER_FIRST_SHARE);
        for (int i = stops.count; i-- > 0;)
            come_back(s, stops.victims[i]);
        if (stops.cost < PLANNER_KEEPS &&
            (stops.price < best->price || stops.cost < best->cost))
            *best = stops;
    }
}

/* ---- for a gang ---- */

struct emptied {
    int device;
    double price;
};

static int by_price(const void *a, const void *b)
{
    const struct emptied *x = a, *y = b;

    if (x->price < y->price || x->price > y->price)
        return x->price < y->price ? -1 : 1;
    return x->device - y->device;
}

/* What it costs to empty the device: a part of each gang on it. */
static double price_of_device(const struct planner_state *s, int job, int device)
{
    const int *m = planner_members(s, device);
    double price = 0;

    for (int e = 0; e < 2 && m[e] >= 0; e++)
        price += price_of(s, job, m[e]) / s->jobs.items[m[e]].status->device_count;
    return planner_allowed(s, job, device) ? price : INFINITY;
}

/* The cheapest devices of the type among these; infinite: there are too few. */
static double cheapest_of(const struct planner_state *s, int job, int type, int first,
                          int count, int *devices)
{
    int needed = s->jobs.items[job].status->job.devices;
    vec_of(struct emptied) list = {0};
    double price = INFINITY;

    for (int d = first; d < first + count; d++)
        if (s->in->cluster->devices[d].type == type &&
            price_of_device(s, job, d) < INFINITY)
            vec_push(&list, (struct emptied){d, price_of_device(s, job, d)});
    if ((int)list.count >= needed) {
        if (list.count > 1)
            qsort(list.items, list.count, sizeof(*list.items), by_price);
        price = 0;
        for (int k = 0; k < needed; k++) {
            devices[k] = list.items[k].device;
            price += list.items[k].price;
        }
    }
    vec_free(&list);
    return price;
}

/* On one node if one has as many, else on any. */
static double cheapest_on(const struct planner_state *s, int job, int type, int *devices)
{
    const struct cluster *c = s->in->cluster;
    int found[LOOP_MAX_GANG], needed = s->jobs.items[job].status->job.devices;
    double best = INFINITY;

    for (int n = 0; n < c->node_count; n++) {
        double price;

        if (c->nodes[n].device_count < needed)
            continue;
        price = cheapest_of(s, job, type, c->nodes[n].first_device,
                            c->nodes[n].device_count, found);
        if (price < best) {
            best = price;
            for (int k = 0; k < needed; k++)
                devices[k] = found[k];
        }
    }
    return best < INFINITY ? best
                           : cheapest_of(s, job, type, 0, c->device_count, devices);
}

/* ---- both ---- */

static void note_stop(struct planner_state *s, struct plan *plan, int victim, int by)
{
    struct seat *seat = &plan->seats[s->jobs.items[victim].seat];

    s->jobs.items[victim].stopped = true;
    seat->device_count = 0;
    seat->reason = UNPLACED_CAPACITY;
    seat->by = s->jobs.items[by].status->job.id;
}

/* Empties the devices and looks again; whoever left in vain comes back. */
static bool empty_and_find(struct planner_state *s, struct plan *plan, int job,
                           const int *devices, struct planner_seats *seats)
{
    vec_of(int) gone = {0};
    bool found;

    for (int k = 0; k < s->jobs.items[job].status->job.devices; k++)
        while (planner_members(s, devices[k])[0] >= 0) {
            vec_push(&gone, planner_members(s, devices[k])[0]);
            leave(s, gone.items[gone.count - 1]);
        }
    found = planner_find_seats(s, job, seats) && seats->cost < PLANNER_KEEPS;
    for (size_t i = gone.count; i-- > 0;)
        if (found)
            note_stop(s, plan, gone.items[i], job);
        else
            come_back(s, gone.items[i]);
    vec_free(&gone);
    return found;
}

static bool preempt_for_gang(struct planner_state *s, struct plan *plan, int job,
                             struct planner_seats *seats)
{
    const struct planner_job *j = &s->jobs.items[job];
    int devices[LOOP_MAX_GANG], best[LOOP_MAX_GANG];
    double least = INFINITY;

    for (int t = 0; t < s->in->cluster->type_count; t++) {
        double price;

        if (!requirement_allows_type(&j->status->job, t) ||
            j->kind->alone[t].rate < j->need ||
            j->kind->alone[t].fits < PREDICT_FITS_LEAST)
            continue;
        price = cheapest_on(s, job, t, devices);
        if (price < least) {
            least = price;
            for (int k = 0; k < j->status->job.devices; k++)
                best[k] = devices[k];
        }
    }
    return least < INFINITY && empty_and_find(s, plan, job, best, seats);
}

static bool preempt_for_single(struct planner_state *s, struct plan *plan, int job,
                               struct planner_seats *seats)
{
    struct stops best = {.price = INFINITY, .cost = INFINITY};

    for (int d = 0; d < s->in->cluster->device_count; d++)
        if (planner_members(s, d)[0] >= 0 && planner_allowed(s, job, d))
            try_device(s, job, d, &best);
    if (!(best.price < INFINITY))
        return false;
    for (int i = 0; i < best.count; i++) {
        leave(s, best.victims[i]);
        note_stop(s, plan, best.victims[i], job);
    }
    *seats =
        (struct planner_seats){.job = job, .devices = {best.device}, .cost = best.cost};
    return true;
}

bool planner_preempts(const struct planner_state *s, int job)
{
    const struct job *j = &s->jobs.items[job].status->job;

    return s->settings.preempt == PREEMPT_PRIORITY ||
           (s->settings.preempt == PREEMPT_BEST_EFFORT && has_promise(j));
}

bool planner_preempt(struct planner_state *s, struct plan *plan, int job,
                     struct planner_seats *seats)
{
    if (!planner_preempts(s, job) || planner_grace_ends_s(s, job) > s->in->now_s ||
        s->preemptions >= PREEMPTIONS_MOST)
        return false;
    s->preemptions++;
    return s->jobs.items[job].status->job.devices > 1
               ? preempt_for_gang(s, plan, job, seats)
               : preempt_for_single(s, plan, job, seats);
}
