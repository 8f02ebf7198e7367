/* planner.c - the steps of the planner: a round (round_plan) gets a whole plan from it,
 * quotes (admit/quote.c) get the part that says where one more job would go */
#include "loop/optimize/planner_private.h"

#include <math.h>
#include <string.h>

#define STREAM_STEADY 31
/* A node without jobs stays awake this long: about what waking it again costs. */
#define IDLE_BEFORE_SLEEP_S 60.0
/* Moves for the sake of cost are looked for this often. */
#define IMPROVE_S 300.0

/* A lower limit is kept from this long before it holds: jobs that are stopped for it take
 * their time to end. */
#define LIMIT_AHEAD_S 120.0

static void *planner_create(uint64_t seed)
{
    struct planner_state *s = mem_new(struct planner_state);

    s->table = prediction_table_create();
    s->improved_s = s->priced_s = -INFINITY;
    rng_stream(&s->rng, seed, STREAM_STEADY);
    return s;
}

static void planner_destroy(void *self)
{
    struct planner_state *s = self;

    prediction_table_destroy(s->table);
    planner_memo_fini(s);
    vec_free(&s->jobs);
    vec_free(&s->jobs_before);
    vec_free(&s->stamps);
    vec_free(&s->shown_stamps);
    vec_free(&s->was);
    vec_free(&s->suffering);
    vec_free(&s->members);
    vec_free(&s->usable);
    vec_free(&s->node_type);
    vec_free(&s->node_jobs);
    vec_free(&s->node_empty);
    vec_free(&s->node_left);
    vec_free(&s->queue);
    vec_free(&s->gang_jobs);
    vec_free(&s->order);
    vec_free(&s->gangs);
    vec_free(&s->started);
    vec_free(&s->stopped);
    vec_free(&s->seats);
    vec_free(&s->shown_jobs);
    vec_free(&s->trials);
    vec_free(&s->caps);
    vec_free(&s->caps_due);
    vec_free(&s->holds);
    vec_free(&s->draws);
    vec_free(&s->runs);
    vec_free(&s->starts);
    vec_free(&s->earliest);
    vec_free(&s->left_soon);
    plan_fini(&s->offered);
    free(s);
}

static void write_running(struct planner_state *s, struct plan *plan)
{
    vec_each (const struct planner_job, j, &s->jobs) {
        if (j->home < 0)
            continue;
        if (!j->gang)
            plan_seat(plan, j->seat, &j->device, 1);
        else
            plan_seat(plan, j->seat, j->status->devices, j->status->device_count);
    }
    vec_each (struct planner_seats, gang, &s->gangs)
        plan_seat(plan, s->jobs.items[gang->job].seat, gang->devices,
                  s->jobs.items[gang->job].status->job.devices);
}

/* Everybody on the device has been measured in this company. */
static bool all_paced(const struct planner_state *s, const int *members)
{
    for (int e = 0; e < 2 && members[e] >= 0; e++) {
        const struct planner_job *j = &s->jobs.items[members[e]];

        if (!j->paced || j->moved || j->unpromised)
            return false;
    }
    return true;
}

/* Somebody's grace time is over, and devices are what is missing. */
static bool somebody_queues(const struct planner_state *s)
{
    vec_each (const int, job, &s->queue) {
        const struct planner_job *j = &s->jobs.items[*job];

        if (j->device < 0 && !j->status->held &&
            s->in->now_s - j->status->job.submitted_s > s->settings.grace_s)
            return true;
    }
    return false;
}

/* Thinking about each limit in each round takes time on large clusters: there one is
 * looked at again when something was measured, or after a while, as part of a round that
 * improves. */
#define CAPS_AGAIN_S 300.0

static bool cap_is_settled(struct planner_state *s, int device)
{
    struct planner_caps *caps;
    const int *m = planner_members(s, device);
    double window_s = -1;

    if (s->in->cluster->device_count <= PLANNER_LARGE || s->terms)
        return false;
    caps = &s->caps.items[device];
    for (int e = 0; e < 2 && m[e] >= 0; e++)
        window_s = fmax(window_s, s->jobs.items[m[e]].window_s);
    if (caps->window_s >= window_s && caps->window_s <= window_s &&
        (!s->improves || s->in->now_s - caps->looked_s < CAPS_AGAIN_S))
        return true;
    caps->window_s = window_s;
    caps->looked_s = s->in->now_s;
    return false;
}

/* The limit the device costs the least with; none before its jobs have been seen to keep
 * their requirements without. */
static void write_cap(struct planner_state *s, struct plan *plan, int device, bool queue)
{
    const int *m = planner_members(s, device);

    if (m[0] >= 0 && !queue && all_paced(s, m) && cap_is_settled(s, device))
        return;
    plan->cap_watts[device] = 0;
    if (!queue && all_paced(s, m))
        planner_cost(s, s->in->cluster->devices[device].type, m[0], m[1],
                     &plan->cap_watts[device]);
}

/* When windows of many jobs come at once: so many are thought about in a round. */
#define CAPS_A_ROUND 192

/* Of a device with somebody new, or who goes, the limit is lifted at once; where somebody
 * was measured it is thought about in its turn. */
static void look_at_cap(struct planner_state *s, struct plan *plan, int device)
{
    const int *m = planner_members(s, device);

    if (m[0] < 0 || !all_paced(s, m)) {
        plan->cap_watts[device] = 0;
    } else if (!s->caps.items[device].due) {
        s->caps.items[device].due = true;
        vec_push(&s->caps_due, device);
    }
}

static void write_due_caps(struct planner_state *s, struct plan *plan)
{
    size_t count = s->caps_due.count, done = 0;

    for (; done < count && done < CAPS_A_ROUND; done++) {
        int device = s->caps_due.items[done];

        s->caps.items[device].due = false;
        write_cap(s, plan, device, false);
    }
    if (done > 0)
        memmove(s->caps_due.items, s->caps_due.items + done,
                (count - done) * sizeof(*s->caps_due.items));
    s->caps_due.count = count - done;
}

/* On a large cluster: of jobs that were measured, came, go, or have other company. */
static void write_changed_caps(struct planner_state *s, struct plan *plan)
{
    for (size_t i = 0; i < s->jobs.count; i++) {
        const struct planner_job *j = &s->jobs.items[i];

        if (s->was.items[i] >= 0 && !j->moved)
            continue;
        for (int k = 0; k < j->status->device_count; k++)
            look_at_cap(s, plan, j->status->devices[k]);
        if (j->moved && !j->gang)
            look_at_cap(s, plan, j->device);
    }
    vec_each (const struct planner_seats, gang, &s->gangs)
        for (int k = 0; k < s->jobs.items[gang->job].status->job.devices; k++)
            look_at_cap(s, plan, gang->devices[k]);
    vec_each (const int, job, &s->queue) {
        const struct seat *seat = &plan->seats[s->jobs.items[*job].seat];

        for (int k = 0; k < seat->device_count; k++)
            look_at_cap(s, plan, plan->devices[seat->first + k]);
    }
    write_due_caps(s, plan);
}

/* Whoever is slowed down for less power keeps others waiting: none while there is a
 * queue. */
static void write_caps(struct planner_state *s, struct plan *plan)
{
    bool queue = somebody_queues(s), large = s->in->cluster->device_count > PLANNER_LARGE;

    if (large && !queue && !s->queued && !s->improves && !(s->limit_watts > 0)) {
        write_changed_caps(s, plan);
        return;
    }
    for (int d = 0; d < s->in->cluster->device_count; d++)
        write_cap(s, plan, d, queue);
    s->queued = queue;
}

/* Jobs that share a device with the job now and leave it by this plan. */
static bool neighbour_leaves(const struct planner_state *s, const struct planner_job *j)
{
    vec_each (const int, other, &s->order)
        if (&s->jobs.items[*other] != j &&
            s->jobs.items[*other].status->devices[0] == j->status->devices[0])
            return true;
    return false;
}

static enum plan_help help_of(const struct planner_state *s, const struct plan *plan,
                              const struct planner_job *j)
{
    int device = j->status->devices[0];
    double cap = s->in->cluster->devices[device].cap_watts;

    if (j->moved)
        return HELP_MOVED;
    if (neighbour_leaves(s, j))
        return HELP_NEIGHBOUR;
    if (cap > 0 && (plan->cap_watts[device] <= 0 || plan->cap_watts[device] > cap))
        return HELP_UNCAPPED;
    return s->in->settings->moves && j->status->job.may_move ? HELP_NOTHING : HELP_FIXED;
}

/* Say what was done for each job that falls short of its promise; most often nobody does.
 */
static void write_mends(struct planner_state *s, struct plan *plan)
{
    vec_clear(&s->order); /* who moved */
    if (s->suffering.count == 0)
        return;
    for (int i = 0; i < (int)s->jobs.count; i++)
        if (s->jobs.items[i].moved)
            vec_push(&s->order, i);
    vec_each (const int, job, &s->suffering) {
        const struct planner_job *j = &s->jobs.items[*job];

        if (!j->status->job.unpromised)
            plan_note_mend(plan, &(struct plan_mend){.job = j->status->job.id,
                                                     .help = help_of(s, plan, j),
                                                     .rate = j->status->pace.rate,
                                                     .needed = j->keep});
    }
}

/* Seats for those who wait, then limits of power, for devices and for all of it. */
static void seat_waiting(struct planner_state *s, struct plan *plan)
{
    write_running(s, plan);
    planner_place_waiting(s, plan);
    if (s->terms && !(s->limit_watts > 0))
        return; /* an offer, which no limit of a device changes */
    write_caps(s, plan);
    planner_keep_limit(s, plan);
}

/* What the input says of this moment. */
static void take_settings(struct planner_state *s, const struct optimize_input *in)
{
    s->settings = *in->settings;
    s->limit_watts =
        power_schedule_least(&s->settings.power_limit, in->now_s, LIMIT_AHEAD_S);
}

/* The plan that keeps a limit is made again when the limit becomes another. */
static void note_limit_change(const struct planner_state *s, struct plan *plan)
{
    const struct power_schedule *limit = &s->settings.power_limit;
    double soon_s = s->in->now_s + LIMIT_AHEAD_S;

    plan->again_s = fmin(plan->again_s,
                         fmin(power_schedule_changes_s(limit, s->in->now_s),
                              power_schedule_changes_s(limit, soon_s) - LIMIT_AHEAD_S));
}

/* Has the head of a long queue places, all of it? */
static bool queue_is_cut(const struct planner_state *s, const struct plan *plan)
{
    if (!s->queue_cut)
        return false;
    vec_each (const int, job, &s->queue)
        if (plan->seats[s->jobs.items[*job].seat].device_count == 0)
            return false;
    return true;
}

static void planner_plan(void *self, const struct optimize_input *in, struct plan *plan)
{
    struct planner_state *s = self;

    take_settings(s, in);
    s->improves = in->settings->moves && in->now_s - s->improved_s >= IMPROVE_S;
    plan_reset(plan, in);
    planner_load(s, in);
    planner_set_price(s);
    planner_hold_devices(s);
    planner_settle_trials(s);
    planner_learn_caps(s);
    planner_look_to_move(s);
    planner_mend(s);
    if (s->improves) {
        planner_improve(s);
        plan->improved = true;
        s->improved_s = in->now_s;
    }
    seat_waiting(s, plan);
    write_mends(s, plan);
    /* Under a limit on power a node without jobs is not kept awake for the next. */
    plan_sleep_idle(plan, in, s->limit_watts > 0 ? 0 : IDLE_BEFORE_SLEEP_S);
    note_limit_change(s, plan);
    plan->queue_cut = queue_is_cut(s, plan);
    plan->learning = s->learning;
    plan->terms = (struct plan_terms){
        .known = true, .price_watts = s->price, .bold = planner_is_bold(s)};
}

/* The part of a round that decides where the last job of the input goes. */
static void planner_offer(void *self, const struct optimize_input *in,
                          const struct plan_terms *terms, struct place_offer *offer)
{
    struct planner_state *s = self;
    const struct seat *seat;

    take_settings(s, in);
    s->terms = terms;
    s->improves = false;
    plan_reset(&s->offered, in);
    planner_load(s, in);
    planner_take_terms(s);
    planner_hold_devices(s);
    seat_waiting(s, &s->offered);
    seat = &s->offered.seats[in->job_count - 1];
    *offer = (struct place_offer){
        .placed = seat->device_count > 0, .reason = seat->reason, .start_s = in->now_s};
    offer->device_count = seat->device_count;
    for (int k = 0; k < seat->device_count; k++)
        offer->devices[k] = s->offered.devices[seat->first + k];
    if (!offer->placed)
        planner_offer_later(s, in, offer);
    s->terms = NULL;
}

const struct planner_ops corgi_planner_ops = {
    .name = "corgi",
    .create = planner_create,
    .plan = planner_plan,
    .offer = planner_offer,
    .destroy = planner_destroy,
};
