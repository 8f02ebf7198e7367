/* round.c - one round: a snapshot, the plan, what still holds of it; see loop.h
 *
 * loop_round_begin() copies what the planner reads, round_plan() may run on another
 * thread, loop_round_end() checks the plan against the present (place/), changes the
 * loop's picture and hands the actions to the caller, for its engine, with the decisions
 * behind them, for its ledger. */
#include "base/mem.h"
#include "loop/cluster.h"
#include "loop/estimate/lengths.h"
#include "loop/loop_private.h"
#include "loop/optimize/plan.h"
#include "loop/queue_order.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of those that wait a round gets as many as could start, and some to choose among. */
#define CHOICE_LEAST 16
/* So long after anything happened only news calls the next round: idle times before sleep
 * and the grace time of a wait are shorter than that. */
#define QUIET_S 1200.0
/* What jobs hold is counted this often, and when one leaves. */
#define COUNT_S 60.0

struct round {
    double now_s;
    struct optimize_settings settings;
    struct cluster *cluster; /* a copy */
    size_t count;
    const struct job_status **present; /* (count) the loop's, in order of admission */
    const struct job_status **listed;  /* (count) copies of them, see jobs_copy() */
    struct job_stamp *stamps;          /* (count) */
    struct planner *planner;           /* the loop's, this round's until it ends */
    struct model *model;               /* the loop's */
    struct lengths *lengths;           /* a copy */
    struct fair_shares *shares;        /* a copy; NULL: there is one user at most */
    struct plan plan;
};

/* Which of the input's jobs go into the copy: chosen (job_count); how many of them wait
 * and how many run. */
static size_t choose(const struct optimize_input *in, size_t most, bool *chosen,
                     size_t *running)
{
    size_t *order = mem_array(size_t, in->job_count + 1);
    size_t count = 0;

    for (size_t i = 0; i < in->job_count; i++) {
        if (!optimize_input_waits(in, i))
            chosen[i] = true;
        else
            order[count++] = i;
    }
    *running = in->job_count - count;
    if (count > most) {
        queue_order(in, most, order);
        count = most;
    }
    for (size_t i = 0; i < count; i++)
        chosen[order[i]] = true;
    free(order);
    return count;
}

/* Jobs beyond the seats there are make the planner weigh what cannot be. */
static size_t worth_a_look(const struct loop *loop)
{
    const struct cluster *c = loop->cluster;
    size_t seats = 0, wanted;

    for (int d = 0; d < c->device_count; d++) {
        int share = cluster_share_most(c, d, loop->settings.share_max);

        if (cluster_device_usable(c, d) && c->devices[d].job_count < share)
            seats += (size_t)(share - c->devices[d].job_count);
    }
    wanted = seats + seats / 4 + CHOICE_LEAST;
    return wanted < loop->most_waiting ? wanted : loop->most_waiting;
}

struct optimize_input loop_input(const struct loop *loop,
                                 const struct job_status *const *jobs, size_t count,
                                 double now_s)
{
    return (struct optimize_input){
        .now_s = now_s,
        .cluster = loop->cluster,
        .job_count = count,
        .jobs = jobs,
        .model = loop_own_model(loop),
        .lengths = loop->lengths,
        .shares = fair_shares_users(loop->shares) > 1 ? loop->shares : NULL,
        .settings = &loop->settings,
    };
}

/* What is kept of what jobs hold. */
static void count_running(struct loop *loop, double now_s)
{
    size_t count;
    struct job_status *const *jobs = jobs_each(loop->jobs, &count);

    if (now_s - loop->counted_s < COUNT_S)
        return;
    for (size_t i = 0; i < count; i++)
        if (jobs[i]->state == JOB_RUNNING)
            loop_count_use(loop, jobs[i], now_s);
    loop->counted_s = now_s;
}

/* The jobs of the snapshot. */
static void list_chosen(struct loop *loop, const struct optimize_input *in,
                        const bool *chosen, struct round *r)
{
    for (size_t i = 0; i < in->job_count; i++) {
        if (!chosen[i])
            continue;
        r->present[r->count] = in->jobs[i];
        r->stamps[r->count++] = in->stamps[i];
    }
    jobs_copy(loop->jobs, r->stamps, r->count, r->listed);
}

/* What the planner reads of the loop, into the copies of the round before: they may be
 * megabytes. */
static struct round *take_spare(struct loop *loop)
{
    struct round *r = loop->spare ? loop->spare : mem_new(struct round);

    loop->spare = NULL;
    if (!r->lengths)
        r->lengths = lengths_create();
    lengths_copy(r->lengths, loop->lengths);
    if (r->cluster && cluster_copy(r->cluster, loop->cluster) == 0)
        return r;
    cluster_destroy(r->cluster);
    r->cluster = cluster_dup(loop->cluster);
    return r;
}

struct round *loop_round_begin(struct loop *loop, double now_s)
{
    struct jobs_shown shown = jobs_shown(loop->jobs, 0, now_s);
    struct optimize_input in = loop_input(loop, shown.jobs, shown.count, now_s);
    bool *chosen = mem_array(bool, shown.count + 1);
    size_t running, most;
    struct round *r;

    in.stamps = shown.stamps;
    assert(!loop->round_out);
    loop->round_out = true;
    jobs_follow(loop->jobs, loop->lengths, now_s);
    count_running(loop, now_s);
    /* News that come while it is planned set it again. */
    loop->due_s = jobs_next_start_s(loop->jobs, now_s);
    loop->last_round_s = now_s;
    r = take_spare(loop);
    r->now_s = now_s;
    r->settings = loop->settings;
    r->planner = &loop->planner;
    r->model = &loop->planned;
    if (in.shares)
        r->shares = fair_shares_dup(in.shares);
    most = choose(&in, worth_a_look(loop), chosen, &running) + running + 1;
    r->count = 0;
    r->present = mem_array(const struct job_status *, most);
    r->listed = mem_array(const struct job_status *, most);
    r->stamps = mem_array(struct job_stamp, most);
    list_chosen(loop, &in, chosen, r);
    free(chosen);
    return r;
}

void round_spare_destroy(struct round *r)
{
    if (!r)
        return;
    cluster_destroy(r->cluster);
    plan_fini(&r->plan);
    lengths_destroy(r->lengths);
    free(r);
}

void round_destroy(struct loop *loop, struct round *r)
{
    if (!r)
        return;
    loop->round_out = false;
    loop_tell_deferred(loop);
    jobs_forget_copies(loop->jobs);
    fair_shares_destroy(r->shares);
    free(r->present);
    free(r->listed);
    free(r->stamps);
    r->shares = NULL;
    loop->spare = r; /* the next round's */
}

void round_plan(struct round *r)
{
    const struct optimize_input in = {
        .now_s = r->now_s,
        .cluster = r->cluster,
        .job_count = r->count,
        .jobs = r->listed,
        .stamps = r->stamps,
        .model = r->model,
        .lengths = r->lengths,
        .shares = r->shares,
        .settings = &r->settings,
    };

    r->planner->ops->plan(r->planner->self, &in, &r->plan);
}

/* ---- what still holds ---- */

/* Is every job of the snapshot where it was, and nobody else anywhere?  Then the plan is
 * one of the present as it is. */
static bool nothing_happened(const struct round *r, const struct jobs_shown *now)
{
    size_t at = 0;

    for (size_t i = 0; i < now->count; i++) {
        const struct job_stamp *stamp = &now->stamps[i];

        if (at == r->count || r->stamps[at].admitted != stamp->admitted) {
            if (!stamp->waits)
                return false;
            continue; /* it was not chosen, or came meanwhile, and waits */
        }
        if (r->stamps[at].changed != stamp->changed &&
            (r->stamps[at].waits != stamp->waits ||
             !place_stays(now->jobs[i], r->listed[at]->devices,
                          r->listed[at]->device_count)))
            return false;
        at++;
    }
    return at == r->count;
}

/* What the round knows, as it is now, then whoever runs besides; not all that wait, which
 * may be a hundred thousand. */
static struct optimize_input input_of(const struct round *r, struct loop *loop,
                                      const struct jobs_shown *now, double now_s)
{
    size_t at = 0;

    vec_clear(&loop->ready);
    vec_clear(&loop->ready_at);
    vec_clear(&loop->besides);
    for (size_t i = 0; i < now->count; i++) {
        while (at < r->count && r->stamps[at].admitted < now->stamps[i].admitted)
            at++;
        if (at < r->count && r->stamps[at].admitted == now->stamps[i].admitted) {
            vec_push(&loop->ready, now->jobs[i]);
            vec_push(&loop->ready_at, at);
        } else if (!now->stamps[i].waits) {
            vec_push(&loop->besides, now->jobs[i]);
        }
    }
    vec_each (const struct job_status *, status, &loop->besides)
        vec_push(&loop->ready, *status);
    return loop_input(loop, loop->ready.items, loop->ready.count, now_s);
}

/* A job the copy knows keeps the plan's seat; one it does not know stays as it is. */
static struct optimize_input adapt_plan(struct loop *loop, const struct round *r,
                                        const struct jobs_shown *now, double now_s)
{
    struct optimize_input in = input_of(r, loop, now, now_s);
    struct plan *plan = &loop->plan;

    plan_reset(plan, &in);
    for (size_t i = 0; i < in.job_count; i++)
        if (i < loop->ready_at.count)
            plan_take_seat(plan, i, &r->plan, loop->ready_at.items[i]);
        else
            plan_keep(plan, &in, i);
    memcpy(plan->cap_watts, r->plan.cap_watts,
           (size_t)in.cluster->device_count * sizeof(*plan->cap_watts));
    memcpy(plan->awake, r->plan.awake,
           (size_t)in.cluster->node_count * sizeof(*plan->awake));
    plan->learning = r->plan.learning;
    plan->terms = r->plan.terms;
    plan->again_s = r->plan.again_s;
    plan->improved = r->plan.improved;
    plan->queue_cut = r->plan.queue_cut;
    for (size_t i = 0; i < r->plan.mend_count; i++)
        plan_note_mend(plan, &r->plan.mends[i]);
    return in;
}

/* The plan of the round as one of the present. */
static struct optimize_input take_plan(struct loop *loop, struct round *r, double now_s)
{
    struct jobs_shown now = jobs_shown(loop->jobs, 0, now_s);
    struct optimize_input in;

    if (nothing_happened(r, &now)) {
        struct plan last = loop->plan;

        loop->plan = r->plan;
        r->plan = last;
        in = loop_input(loop, r->present, r->count, now_s);
        in.stamps = r->stamps;
    } else {
        in = adapt_plan(loop, r, &now, now_s);
    }
    for (int d = 0; d < in.cluster->device_count; d++) /* an operator's word first */
        if (!isnan(loop->fixed_cap_watts[d]))
            loop->plan.cap_watts[d] = loop->fixed_cap_watts[d];
    return in;
}

static void note_start(struct loop *loop, struct job_status *status, double now_s)
{
    quote_score_started(&loop->quotes, status, now_s);
    status->counted_s = now_s;
    fair_shares_serve(loop->shares, &status->job, now_s);
}

static void note_changes(struct loop *loop, double now_s)
{
    vec_each (struct action, action, &loop->actions) {
        if (action->kind == ACTION_CAP)
            loop->device_changed_s[action->device] = now_s;
        if (action->kind == ACTION_STOP)
            jobs_change(loop->jobs, action->job)->preempted += action->by != 0;
        if (action->kind == ACTION_START)
            note_start(loop, jobs_change(loop->jobs, action->job), now_s);
        for (int i = 0; i < action->device_count; i++)
            loop->device_changed_s[action->devices[i]] = now_s;
    }
}

/* Devices a job is about to leave change too, and only the plan knows them. */
static void note_departure(struct loop *loop, const struct job_status *status,
                           const struct seat *seat, double now_s)
{
    for (int k = 0; k < status->device_count; k++) {
        bool stays = false;

        for (int m = 0; m < seat->device_count && !stays; m++)
            stays = loop->plan.devices[seat->first + m] == status->devices[k];
        if (!stays)
            loop->device_changed_s[status->devices[k]] = now_s;
    }
}

/* ---- the ledger ---- */

/* What those had that the plan moves: afterwards nobody knows.  With `leave` they really
 * leave their devices. */
static void note_before(struct loop *loop, const struct optimize_input *in, bool leave)
{
    const struct decision_ground ground = {.now_s = in->now_s,
                                           .cluster = loop->cluster,
                                           .jobs = loop->jobs,
                                           .model = loop_own_model(loop),
                                           .lengths = loop->lengths};

    vec_clear(&loop->before);
    vec_each (const size_t, i, &loop->changes) {
        const struct seat *seat = &loop->plan.seats[*i];
        const struct job_status *status = in->jobs[*i];

        if (leave)
            note_departure(loop, status, seat, in->now_s);
        if (status->state == JOB_RUNNING && seat->device_count > 0)
            vec_push(&loop->before, decision_look(&ground, status));
    }
}

/* After the plan was carried out on this cluster and these jobs. */
static void write_ledger(struct loop *loop, const struct cluster *cluster,
                         struct jobs *jobs, double now_s)
{
    const struct decision_ground ground = {.now_s = now_s,
                                           .cluster = cluster,
                                           .jobs = jobs,
                                           .model = loop_own_model(loop),
                                           .lengths = loop->lengths,
                                           .settings = &loop->settings,
                                           .plan = &loop->plan,
                                           .before = loop->before.items,
                                           .before_count = loop->before.count};
    struct decision d;

    vec_clear(&loop->decisions);
    for (size_t i = 0; i < loop->plan.mend_count; i++) {
        const struct plan_mend *mend = &loop->plan.mends[i];
        const struct job_status *told = jobs_get(loop->jobs, mend->job);
        struct job_status *status;

        /* That nothing can be done is told once, not in every round. */
        if (!told || told->mend_told == 1 + (int)mend->help)
            continue;
        status = jobs_change(loop->jobs, mend->job);
        status->mend_told = 1 + (int)mend->help;
        if (jobs == loop->jobs) /* it was done, not only advised */
            status->helped += mend->help != HELP_NOTHING && mend->help != HELP_FIXED;
        decision_of_mend(&ground, mend, &d);
        vec_push(&loop->decisions, d);
    }
    vec_each (struct action, action, &loop->actions)
        if (decision_of_action(&ground, action, &d))
            vec_push(&loop->decisions, d);
}

/* What was just done may let a node sleep or a wait run out of grace: look again.  The
 * rest of a queue whose head was just placed does not wait for that; where the plan was
 * advice alone the head would be the same again. */
static void set_next_round(struct loop *loop, bool done, double now_s)
{
    if (loop->actions.count > 0)
        loop->stirred_s = now_s;
    if (now_s - loop->stirred_s < QUIET_S)
        loop_stir(loop, now_s);
    loop->due_s = fmin(loop->due_s, fmax(loop->plan.again_s, now_s + loop->gap_s));
    if (done && loop->plan.queue_cut)
        loop->due_s = now_s;
}

/* The plan as one of the present, checked; -1: it is refused, and the round has ended. */
static int take_checked(struct loop *loop, struct round *r, double now_s,
                        struct optimize_input *in, struct err *err)
{
    if (r->cluster->node_count != loop->cluster->node_count) {
        err_set(err, ERR_INVALID, "the cluster has grown meanwhile");
    } else {
        *in = take_plan(loop, r, now_s);
        if (place_check(in, &loop->plan, &loop->changes, err) == 0)
            return 0;
    }
    round_destroy(loop, r);
    loop_want_round(loop, now_s);
    return err_prefix(err, "planner %s", loop->planner.ops->name);
}

static struct round_result result_of(const struct loop *loop)
{
    return (struct round_result){.actions = loop->actions.items,
                                 .action_count = loop->actions.count,
                                 .decisions = loop->decisions.items,
                                 .decision_count = loop->decisions.count};
}

int loop_round_end(struct loop *loop, struct round *r, double now_s,
                   struct round_result *result, struct err *err)
{
    struct optimize_input in;

    if (take_checked(loop, r, now_s, &in, err) < 0)
        return -1;
    note_before(loop, &in, true);
    vec_clear(&loop->actions);
    place_apply(&in, &loop->plan, &loop->changes, loop->jobs, loop->cluster,
                &loop->actions);
    note_changes(loop, now_s);
    round_destroy(loop, r);
    write_ledger(loop, loop->cluster, loop->jobs, now_s);
    set_next_round(loop, true, now_s);
    *result = result_of(loop);
    return 0;
}

int loop_round_advise(struct loop *loop, struct round *r, double now_s,
                      struct round_result *result, struct err *err)
{
    struct optimize_input in;
    struct cluster *cluster;
    struct jobs *jobs;

    if (take_checked(loop, r, now_s, &in, err) < 0)
        return -1;
    cluster = cluster_dup(loop->cluster);
    jobs = jobs_dup(in.jobs, in.job_count); /* to be changed without a trace */
    note_before(loop, &in, false);
    vec_clear(&loop->actions);
    place_apply(&in, &loop->plan, &loop->changes, jobs, cluster, &loop->actions);
    round_destroy(loop, r);
    write_ledger(loop, cluster, jobs, now_s);
    set_next_round(loop, false, now_s);
    jobs_destroy(jobs);
    cluster_destroy(cluster);
    *result = result_of(loop);
    return 0;
}

int loop_round(struct loop *loop, double now_s, struct round_result *result,
               struct err *err)
{
    struct round *r = loop_round_begin(loop, now_s);

    round_plan(r);
    return loop_round_end(loop, r, now_s, result, err);
}
