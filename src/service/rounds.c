/* rounds.c - when the loop plans, and carrying out what it decided
 *
 * service_want_round() sets the timer that calls rounds_due().  The loop makes a
 * snapshot, the planning thread plans, and what the loop makes of the plan is stored,
 * then told to the engine by lifecycle.c. */
#include "service/service_private.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/rng.h"
#include "loop/cluster.h"
#include "loop/requirement.h"
#include "loop/unplaced.h"
#include "service/daemon_metrics.h"
#include "service/ledger.h"
#include "service/lifecycle.h"
#include "service/planning_thread.h"
#include "service/quotas.h"
#include "service/user_shares.h"
#include "store/rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPLAIN_AT_ONCE 512

/* ---- carrying out ----------------------------------------------------------------- */

struct placed { /* starts and moves of a round whose tx is on its way */
    struct service *service;
    vec_of(uint64_t) jobs;
    vec_of(int) attempts;
};

static void node_event(struct service *s, struct tx *tx, int node, const char *what)
{
    struct json_out *out = tx_event(tx, "node", NULL);

    json_out_key_string(out, "name", loop_cluster(s->loop)->nodes[node].name);
    json_out_key_string(out, "what", what);
    json_out_key_number(out, "at_s", service_now_s(s));
}

static void failed(const char *what, int subject, const struct err *err)
{
    log_warn("engine_refused", LOG_STR("action", what), LOG_I64("subject", subject),
             LOG_ERR(err));
}

static void do_order(struct service *s, struct tx *tx, const struct action *a)
{
    const char *what = a->kind == ACTION_WAKE    ? "wake"
                       : a->kind == ACTION_SLEEP ? "sleep"
                                                 : "cap";
    struct err err = {0};

    if (conduct_order(s->loop, &s->engine, a, service_now_s(s), &err) < 0)
        failed(what, a->kind == ACTION_CAP ? a->device : a->node, &err);
    else if (a->kind != ACTION_CAP)
        node_event(s, tx, a->node, what);
}

static void do_stop(struct service *s, struct tx *tx, const struct action *a)
{
    struct record *r = records_get(s->records, a->job);
    const struct job_status *status = loop_job(s->loop, a->job);

    records_set_phase(s->records, r, PHASE_WAITING);
    record_stopped(r, service_now_s(s));
    r->steps_before = status->steps_done;
    r->expected_end_s = r->rate = r->watts = NAN;
    if (a->by)
        record_explain(r, "preempted", "stopped for job %llu; it goes on later",
                       (unsigned long long)a->by);
    else
        record_explain(r, "policy", "stopped to make room; it goes on later");
    tx_job(tx, r, &(struct tx_step){.what = "stopped"});
}

static void do_place(struct service *s, struct tx *tx, const struct action *a,
                     struct placed *placed)
{
    struct record *r = records_get(s->records, a->job);

    lifecycle_place(s, tx, r, a->kind == ACTION_MOVE);
    vec_push(&placed->jobs, r->id);
    vec_push(&placed->attempts, r->attempt);
}

static void stored(void *ctx, const struct err *err)
{
    struct placed *p = ctx;

    for (size_t i = 0; i < p->jobs.count; i++)
        lifecycle_placed(p->service, p->jobs.items[i], p->attempts.items[i],
                         err->code == ERR_NONE);
    lifecycle_launch(p->service);
    vec_free(&p->jobs);
    vec_free(&p->attempts);
    free(p);
}

static void take_decision(struct service *s, struct tx *tx, const struct decision *d)
{
    struct record *r = records_get(s->records, d->job);

    if (!r)
        return;
    if (isfinite(d->watts)) { /* it got devices: what is expected of it there */
        r->predicted_rate = d->rate;
        r->watts = d->watts;
        r->expected_end_s = d->at_s + d->joules / d->watts;
    }
    tx_decision(tx, r, d);
}

static void carry_out(struct service *s, const struct round_result *result)
{
    struct placed *placed = mem_new(struct placed);
    struct tx *tx = tx_begin(s);

    placed->service = s;
    for (size_t i = 0; i < result->action_count; i++) {
        const struct action *a = &result->actions[i];

        metric_add(s->figures->actions, 1, METRIC_LABELS(ledger_action_name(a->kind)));
        /* Whoever leaves is told before the rows are written: it only makes room. */
        if (a->kind == ACTION_MOVE || a->kind == ACTION_STOP)
            lifecycle_stop(s, records_get(s->records, a->job), ENGINE_STOP_MOVE);
        switch (a->kind) {
        case ACTION_WAKE:
        case ACTION_SLEEP:
        case ACTION_CAP:
            do_order(s, tx, a);
            break;
        case ACTION_STOP:
            do_stop(s, tx, a);
            break;
        case ACTION_MOVE:
        case ACTION_START:
            do_place(s, tx, a, placed);
            break;
        }
    }
    for (size_t i = 0; i < result->decision_count; i++)
        take_decision(s, tx, &result->decisions[i]);
    tx_commit(tx, stored, placed);
}

/* ---- advice ------------------------------------------------------------------------ */

/* The same advice round after round is said once. */
static bool is_news(struct record *r, const struct decision *d)
{
    uint64_t hash = hash_text(d->kind);

    for (int i = 0; i < d->device_count; i++)
        hash = rng_mix(hash, (uint64_t)d->devices[i]);
    if (r->advised == hash)
        return false;
    r->advised = hash;
    return true;
}

/* For GET /v1/advice; stored with the next step of the job. */
static void note_advice(const struct service *s, struct record *r,
                        const struct decision *d)
{
    if (strcmp(d->kind, "move") == 0)
        r->advised_moves++;
    if (strcmp(d->kind, "start") != 0 || d->device_count == 0 || !isnan(r->advised_s))
        return;
    r->advised_s = d->at_s;
    r->advised_type = loop_cluster(s->loop)->devices[d->devices[0]].type;
}

/* What would have been done goes into the ledger, marked; nothing else happens. */
static void advise(struct service *s, const struct round_result *result)
{
    struct tx *tx = NULL;

    for (size_t i = 0; i < result->decision_count; i++) {
        struct decision d = result->decisions[i];
        struct record *r = records_get(s->records, d.job);

        if (!r || !is_news(r, &d))
            continue;
        if (!tx)
            tx = tx_begin(s);
        note_advice(s, r, &d);
        tx_advice(tx, r, &d);
    }
    for (size_t i = 0; i < result->action_count; i++)
        metric_add(s->figures->advised, 1,
                   METRIC_LABELS(ledger_action_name(result->actions[i].kind)));
    if (tx)
        tx_commit(tx, NULL, NULL);
}

/* ---- why the others wait ---------------------------------------------------------- */

/* Users as they stand in this round; none where one is alone. */
struct standing {
    struct fair_share *users; /* (count) */
    size_t count;
};

/* From so much more than its part on, a user's share is told as a reason. */
#define SHARE_OVER 1.05

static void add_share(const struct service *s, const struct standing *standing,
                      const struct record *r, char *text, size_t size)
{
    int place = fair_shares_place(loop_shares(s->loop), record_job(r));
    const struct fair_share *user = place >= 0 ? &standing->users[place] : NULL;
    size_t used = strlen(text);

    if (user && user->had > SHARE_OVER * user->due)
        snprintf(text + used, size - used,
                 "; %.40s%s%.40s had %.0f %% of the GPU time, due %.0f %%",
                 record_user(r), user->apart ? " of " : "",
                 user->apart ? user->account : "", 100 * user->had, 100 * user->due);
}

static void add_slack(const struct service *s, const struct record *r, char *text,
                      size_t size)
{
    const struct job_status *status = loop_job(s->loop, r->id);
    size_t used = strlen(text);
    double slack_s = status ? requirement_slack_s(status, service_now_s(s)) : INFINITY;

    if (isfinite(slack_s))
        snprintf(text + used, size - used, "; its deadline %s %.1f h",
                 slack_s >= 0 ? "leaves time to wait for" : "is missed by at least",
                 fabs(slack_s) / 3600);
}

static void explain(const struct service *s, const struct standing *standing,
                    struct record *r, enum unplaced_reason reason)
{
    static const char *const codes[] = {"",       "capacity", "rate",    "memory",
                                        "policy", "host",     "capacity"};
    char text[sizeof(r->reason)];

    if (r->phase != PHASE_WAITING || r->held || r->over_quota ||
        r->final) /* the loop does not have it */
        return;
    /* Whom it was stopped for says more than that nothing is free. */
    if (reason == UNPLACED_CAPACITY && strcmp(r->reason_code, "preempted") == 0)
        return;
    unplaced_say(text, sizeof(text), reason, record_job(r), loop_cluster(s->loop));
    if (standing->count > 1 && reason == UNPLACED_CAPACITY)
        add_share(s, standing, r, text, sizeof(text));
    add_slack(s, r, text, sizeof(text));
    if (strcmp(r->reason, text) != 0)
        record_explain(r, codes[reason], "%s", text);
}

/* The round had no look at these: there was no room for them.  They are many, so each
 * round tells the next few. */
static void explain_some(struct service *s, const struct standing *standing)
{
    size_t count, some;
    struct record *const *all = records_all(s->records, &count);

    some = count < EXPLAIN_AT_ONCE ? count : EXPLAIN_AT_ONCE;
    for (size_t i = 0; i < some; i++)
        explain(s, standing, all[s->explained++ % count], UNPLACED_CAPACITY);
}

static void explain_waiting(struct service *s)
{
    const struct plan *plan = loop_plan(s->loop);
    struct standing standing = {0};

    if (loop_settings(s->loop)->fair_share_s > 0 &&
        records_counts(s->records).waiting > 0)
        standing.users = user_shares_list(s, &standing.count);
    explain_some(s, &standing);
    for (size_t i = 0; i < plan->seat_count; i++) {
        const struct seat *seat = &plan->seats[i];
        struct record *r;

        if (seat->device_count > 0 || seat->reason == UNPLACED_NONE)
            continue;
        r = records_get(s->records, seat->job);
        if (r)
            explain(s, &standing, r, seat->reason);
    }
    free(standing.users);
}

/* ---- a round ---------------------------------------------------------------------- */

static void end_advice(struct service *s, const struct planning_task *task)
{
    struct round_result result;
    struct err err = {0};

    if (loop_round_advise(s->loop, task->round, service_now_s(s), &result, &err) < 0) {
        s->stale_plans++;
        log_debug("plan_stale", LOG_ERR(&err));
    } else if (!s->offline[0]) { /* else it rests on what was */
        advise(s, &result);
        explain_waiting(s);
    }
    service_follow_rounds(s);
    reactor_did(s->reactor, "plan_out");
}

static void end_round(struct service *s, const struct planning_task *task)
{
    struct round_result result;
    struct err err = {0};

    metric_add(s->figures->rounds, 1, METRIC_NO_LABELS);
    metric_observe(s->figures->decision_s, task->work_s, METRIC_NO_LABELS);
    if (s->draining || s->paused) {
        round_destroy(s->loop, task->round);
        return;
    }
    if (s->advises) {
        end_advice(s, task);
        return;
    }
    if (loop_round_end(s->loop, task->round, service_now_s(s), &result, &err) < 0) {
        /* Something it counted on has gone meanwhile: the loop plans again. */
        s->stale_plans++;
        log_debug("plan_stale", LOG_ERR(&err));
    } else {
        if (result.action_count > 0 || result.decision_count > 0) {
            tx_ledger_round(s, &result);
            carry_out(s, &result);
        }
        explain_waiting(s);
    }
    service_follow_rounds(s);
    reactor_did(s->reactor, "plan_out");
}

static void begin_round(struct service *s)
{
    struct round *round = loop_round_begin(s->loop, service_now_s(s));

    s->round_running = true;
    reactor_did(s->reactor, "plan_in");
    planning_thread_hand_over(s->planning, round, NULL);
}

static void end_lesson(struct service *s, const struct planning_task *task)
{
    if (s->draining) {
        learned_lesson_destroy(task->lesson);
        return;
    }
    loop_lesson_take(s->loop, task->lesson);
    s->lessons++;
    log_info("model_adapted", LOG_NUM("seconds", task->work_s));
    begin_round(s);
}

void rounds_planned(void *ctx, const struct planning_task *task)
{
    struct service *s = ctx;

    s->round_running = false;
    if (task->round)
        end_round(s, task);
    else
        end_lesson(s, task);
}

/* What is due to be learned is learned before the plan that rests on it, as in the
 * simulator: false when there is none. */
static bool begin_lesson(struct service *s)
{
    struct learned_lesson *lesson = loop_lesson_begin(s->loop, service_now_s(s));

    if (!lesson)
        return false;
    s->round_running = true;
    planning_thread_hand_over(s->planning, NULL, lesson);
    return true;
}

static void try_store(struct service *s)
{
    struct tx *tx = tx_begin(s);

    store_put(tx_batch(tx), &(struct store_setting){"written", "again"});
    tx_commit(tx, NULL, NULL);
}

void rounds_due(void *ctx)
{
    struct service *s = ctx;

    if (s->round_running || s->draining)
        return;
    if (!s->failing && !s->paused && loop_round_due_s(s->loop) > service_now_s(s)) {
        service_follow_rounds(s);
        return;
    }
    s->round_wall_s = clock_wall_s();
    if (s->failing) { /* nothing may start: see whether the store writes again */
        tx_retry(s);
        try_store(s);
        service_want_round(s);
        return;
    }
    if (s->paused)
        return; /* whoever lets it go on wants a round */
    s->rounds++;
    quotas_apply(s);
    if (!begin_lesson(s))
        begin_round(s);
}
