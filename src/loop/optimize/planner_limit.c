/* planner_limit.c - the power of the whole cluster stays below a limit: the last step of
 * planner.c, on a plan whose seats and caps are written
 *
 * What is drawn, as measured where it was, else as believed, hosts and sleeping nodes
 * included, is brought below the limit by what hurts least: deeper caps where all
 * requirements still hold, then starts of this round are taken back, then caps anywhere,
 * then jobs that may be stopped go back to the queue.  Starts leave a margin, so that a
 * belief that moves a little does not stop what was just started.
 *
 * What is believed of a job nobody has measured may be wrong by a multiple.  So where the
 * cluster would draw too much if such jobs drew all their devices can, these get caps
 * above what they are believed to draw: they cost nothing if that is true. */
#include "loop/optimize/planner_private.h"

#include "loop/cluster.h"

#include <math.h>

#define START_MARGIN 0.97
/* A cap on what was not measured leaves so many times what it is believed to draw. */
#define GUARD_ROOM 1.1
/* Who runs is slowed down only where all of it might come to so much of the limit. */
#define GUARD_MOST 1.03
/* A device that draws so much of its cap would draw more without. */
#define CAP_BINDS 0.8

/* Nobody leaves the device in this plan, and nobody comes to it. */
static bool company_stays(const struct planner_state *s, int device)
{
    const int *m = planner_members(s, device);
    int stay = 0;

    for (int e = 0; e < 2 && m[e] >= 0; e++, stay++) {
        const struct planner_job *j = &s->jobs.items[m[e]];

        if (j->status->state != JOB_RUNNING || j->moved)
            return false;
    }
    return stay == s->in->cluster->devices[device].job_count;
}

/* Measured over believed draw of a device whose jobs stay as they are: what is believed
 * of another cap is off by as much. */
static double measured_over_believed(struct planner_state *s, int device)
{
    const int *m = planner_members(s, device);
    const struct recent_rate *pace;

    if (m[0] < 0 || !s->jobs.items[m[0]].paced || !company_stays(s, device))
        return 1;
    pace = &s->jobs.items[m[0]].status->pace;
    if (!(pace->watts > 0))
        return 1;
    return pace->watts / planner_draw(s, s->in->cluster->devices[device].type, m[0], m[1],
                                      pace->cap_watts)
                             .watts;
}

static double drawn_under(struct planner_state *s, int device, double cap_watts)
{
    const int *m = planner_members(s, device);
    double watts =
        planner_draw(s, s->in->cluster->devices[device].type, m[0], m[1], cap_watts)
            .watts *
        measured_over_believed(s, device);

    return cap_watts > 0 ? fmin(watts, cap_watts) : watts;
}

static double device_watts(struct planner_state *s, const struct plan *plan, int device)
{
    return drawn_under(s, device, plan->cap_watts[device]);
}

/* Was the draw of the device's jobs not measured as they will be: in this company, and
 * not held down by a deeper cap? */
static bool is_unsure(const struct planner_state *s, const struct plan *plan, int device)
{
    const int *m = planner_members(s, device);
    const struct recent_rate *pace;

    if (m[0] < 0)
        return false;
    pace = &s->jobs.items[m[0]].status->pace;
    if (!s->jobs.items[m[0]].paced || !company_stays(s, device) || !(pace->watts > 0))
        return true;
    return pace->cap_watts > 0 && pace->watts > CAP_BINDS * pace->cap_watts &&
           !(plan->cap_watts[device] > 0 &&
             plan->cap_watts[device] < pace->cap_watts + 0.5);
}

/* What the device draws at most. */
static double most_watts(struct planner_state *s, const struct plan *plan, int device)
{
    const struct planner_type *type = &s->types[s->in->cluster->devices[device].type];

    if (type->caps <= 1 || !is_unsure(s, plan, device))
        return device_watts(s, plan, device);
    return plan->cap_watts[device] > 0 ? plan->cap_watts[device] : type->top_watts;
}

/* A node without jobs sleeps, where it may: see planner_plan(). */
static bool will_sleep(const struct planner_state *s, int node)
{
    const struct node *n = &s->in->cluster->nodes[node];

    return s->node_jobs.items[node] == 0 && s->in->settings->sleep && n->may_sleep &&
           (n->state == NODE_AWAKE || n->state == NODE_ASLEEP ||
            n->state == NODE_FALLING);
}

typedef double draw_fn(struct planner_state *s, const struct plan *plan, int device);

/* Of the node, with devices that draw so much each. */
static double node_watts(struct planner_state *s, const struct plan *plan, int n,
                         draw_fn *draw)
{
    const struct node *node = &s->in->cluster->nodes[n];
    double watts = node->host_watts;

    for (int i = 0; i < node->device_count; i++)
        watts += draw(s, plan, node->first_device + i);
    return watts;
}

static double total_watts(struct planner_state *s, const struct plan *plan)
{
    const struct cluster *c = s->in->cluster;
    double watts = 0;

    for (int n = 0; n < c->node_count; n++)
        if (will_sleep(s, n))
            watts += c->nodes[n].sleep_watts;
        else if (c->nodes[n].state != NODE_DOWN)
            watts += node_watts(s, plan, n, device_watts);
    return watts;
}

/* What all of it draws at most, until those who leave their nodes have left. */
static double total_at_most(struct planner_state *s, const struct plan *plan)
{
    const struct cluster *c = s->in->cluster;
    double watts = 0;

    for (int n = 0; n < c->node_count; n++)
        if (will_sleep(s, n) && cluster_node_jobs(c, n) == 0)
            watts += c->nodes[n].sleep_watts;
        else if (c->nodes[n].state != NODE_DOWN)
            watts += node_watts(s, plan, n, most_watts);
    return watts;
}

/* The next deeper cap of a device; 0: there is none. */
static double deeper(const struct planner_type *type, double cap_watts)
{
    for (int c = 1; c < type->caps; c++)
        if (cap_watts <= 0 || type->cap_watts[c] < cap_watts - 0.5)
            return type->cap_watts[c];
    return 0;
}

/* Deepen the cap that saves most, only where requirements hold with it unless any: the
 * watts it saves; 0: there is none. */
static double deepen_one(struct planner_state *s, struct plan *plan, bool any)
{
    const struct cluster *c = s->in->cluster;
    double best = 0, best_cap = 0;
    int found = -1;

    for (int d = 0; d < c->device_count; d++) {
        const int *m = planner_members(s, d);
        int type = c->devices[d].type;
        double cap = deeper(&s->types[type], plan->cap_watts[d]);
        struct planner_draw then;
        double saves;

        if (m[0] < 0 || cap <= 0)
            continue;
        then = planner_draw(s, type, m[0], m[1], cap);
        saves = device_watts(s, plan, d) - drawn_under(s, d, cap);
        if ((then.kept || any) && saves > best) {
            best = saves;
            best_cap = cap;
            found = d;
        }
    }
    if (found >= 0)
        plan->cap_watts[found] = best_cap;
    return best;
}

static void take_out(struct planner_state *s, struct plan *plan, int job)
{
    struct seat *seat = &plan->seats[s->jobs.items[job].seat];

    planner_detach(s, job, plan->devices + seat->first, seat->device_count);
    seat->device_count = 0;
    seat->reason = UNPLACED_POLICY;
}

/* The running job that is stopped first: of the lowest priority, best effort before
 * promises, the youngest; -1: none may be. */
static int first_to_go(const struct planner_state *s)
{
    int found = -1;

    for (int i = 0; i < (int)s->jobs.count; i++) {
        const struct planner_job *j = &s->jobs.items[i], *f;
        bool free_of_promise;

        if (j->status->state != JOB_RUNNING || j->stopped || !j->status->job.may_move ||
            !s->in->settings->moves)
            continue;
        if (found < 0) {
            found = i;
            continue;
        }
        f = &s->jobs.items[found];
        free_of_promise = j->status->job.need.kind == NEED_BEST_EFFORT;
        if (j->status->job.priority != f->status->job.priority) {
            if (j->status->job.priority < f->status->job.priority)
                found = i;
        } else if (free_of_promise || f->status->job.need.kind != NEED_BEST_EFFORT) {
            found = i; /* later in the order of admission */
        }
    }
    return found;
}

/* What starts in this round has no claim yet: the last to be seated goes first. */
static double take_back_starts(struct planner_state *s, struct plan *plan, double limit)
{
    double watts = total_watts(s, plan);

    while (watts > START_MARGIN * limit && s->started.count > 0) {
        int job = s->started.items[--s->started.count];

        take_out(s, plan, job);
        watts = total_watts(s, plan);
    }
    return watts;
}

/* Whoever was stopped first matters least: the last ones come back where there is room
 * after all, since somebody who draws much went too. */
static void bring_back(struct planner_state *s, struct plan *plan, double limit)
{
    for (size_t i = s->stopped.count; i-- > 0;) {
        int job = s->stopped.items[i];
        struct planner_job *j = &s->jobs.items[job];
        struct seat *seat = &plan->seats[j->seat];
        const int *devices = plan->devices + seat->first;

        planner_attach(s, job, devices, j->status->job.devices);
        if (total_watts(s, plan) <= limit) {
            seat->device_count = j->status->job.devices;
            seat->reason = UNPLACED_NONE;
            j->stopped = false;
        } else {
            planner_detach(s, job, devices, j->status->job.devices);
        }
    }
}

static void stop_some(struct planner_state *s, struct plan *plan, double limit,
                      double watts)
{
    int job;

    vec_clear(&s->stopped);
    while (watts > limit && (job = first_to_go(s)) >= 0) {
        s->jobs.items[job].stopped = true;
        take_out(s, plan, job);
        vec_push(&s->stopped, job);
        watts = total_watts(s, plan);
    }
    bring_back(s, plan, limit);
}

/* Lower the cap of what was not measured where most is between it and what is believed:
 * by how much; 0: none can be lowered. */
static double guard_one(struct planner_state *s, struct plan *plan)
{
    const struct cluster *c = s->in->cluster;
    double best = 0, best_cap = 0;
    int found = -1;

    for (int d = 0; d < c->device_count; d++) {
        double cap = deeper(&s->types[c->devices[d].type], plan->cap_watts[d]), less;

        if (!(cap > 0) || !is_unsure(s, plan, d))
            continue;
        less = most_watts(s, plan, d) - cap;
        if (cap >= GUARD_ROOM * device_watts(s, plan, d) && less > best) {
            best = less;
            best_cap = cap;
            found = d;
        }
    }
    if (found >= 0)
        plan->cap_watts[found] = best_cap;
    return best;
}

/* Even if all that was not measured draws what it can, the limit is kept: by caps on it,
 * then starts are taken back, then caps elsewhere where requirements hold. */
static void guard_limit(struct planner_state *s, struct plan *plan, double limit)
{
    for (;;) {
        double watts = total_at_most(s, plan), less;

        while (watts > START_MARGIN * limit && (less = guard_one(s, plan)) > 0)
            watts -= less;
        if (watts <= limit)
            return;
        if (s->started.count > 0)
            take_out(s, plan, s->started.items[--s->started.count]);
        else if (watts <= GUARD_MOST * limit || !(deepen_one(s, plan, false) > 0))
            return;
    }
}

void planner_keep_limit(struct planner_state *s, struct plan *plan)
{
    double limit = s->limit_watts, saved, watts;

    if (!(limit > 0))
        return;
    watts = total_watts(s, plan);
    while (watts > START_MARGIN * limit && (saved = deepen_one(s, plan, false)) > 0)
        watts -= saved;
    watts = take_back_starts(s, plan, limit);
    while (watts > limit && (saved = deepen_one(s, plan, true)) > 0)
        watts -= saved;
    stop_some(s, plan, limit, watts);
    guard_limit(s, plan, limit);
}
