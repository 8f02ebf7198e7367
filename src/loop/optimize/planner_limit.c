/* planner_limit.c - the power of the whole cluster stays below a limit: the last step of
 * planner.c, on a plan whose seats and caps are written
 *
 * What is drawn, as measured where it was, else as believed, hosts and sleeping nodes
 * included, is brought below the limit by what hurts least: deeper caps where all
 * requirements still hold, then starts of this round are taken back, then caps anywhere,
 * then jobs that may be stopped go back to the queue.  Starts leave a margin, so that a
 * belief that moves a little does not stop what was just started. */
#include "loop/optimize/planner_private.h"

#include <math.h>

#define START_MARGIN 0.97

/* Measured over believed draw of a device whose jobs stay as they are: what is believed
 * of another cap is off by as much. */
static double measured_over_believed(struct planner_state *s, int device)
{
    const int *m = planner_members(s, device);
    const struct recent_rate *pace;

    if (m[0] < 0 || !s->jobs.items[m[0]].paced || s->jobs.items[m[0]].moved ||
        (m[1] >= 0 && s->jobs.items[m[1]].moved))
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

/* A node without jobs sleeps, where it may: see planner_plan(). */
static bool will_sleep(const struct planner_state *s, int node)
{
    const struct node *n = &s->in->cluster->nodes[node];

    return s->node_jobs.items[node] == 0 && s->in->settings->sleep && n->may_sleep &&
           (n->state == NODE_AWAKE || n->state == NODE_ASLEEP ||
            n->state == NODE_FALLING);
}

static double total_watts(struct planner_state *s, const struct plan *plan)
{
    const struct cluster *c = s->in->cluster;
    double watts = 0;

    for (int n = 0; n < c->node_count; n++) {
        const struct node *node = &c->nodes[n];

        if (node->state == NODE_DOWN)
            continue;
        watts += will_sleep(s, n) ? node->sleep_watts : node->host_watts;
        for (int i = 0; i < node->device_count && !will_sleep(s, n); i++)
            watts += device_watts(s, plan, node->first_device + i);
    }
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

void planner_keep_limit(struct planner_state *s, struct plan *plan)
{
    double limit = s->limit_watts, saved, watts;
    int job;

    if (!(limit > 0))
        return;
    watts = total_watts(s, plan);
    while (watts > START_MARGIN * limit && (saved = deepen_one(s, plan, false)) > 0)
        watts -= saved;
    watts = take_back_starts(s, plan, limit);
    while (watts > limit && (saved = deepen_one(s, plan, true)) > 0)
        watts -= saved;
    while (watts > limit && (job = first_to_go(s)) >= 0) {
        s->jobs.items[job].stopped = true;
        take_out(s, plan, job);
        watts = total_watts(s, plan);
    }
}
