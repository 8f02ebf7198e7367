/* lifecycle.c - handlers, rounds, replicas and engine events say what becomes of a job;
 * its rows go into a tx, and the engine is told to start or stop */
#include "service/lifecycle.h"

#include "base/log.h"
#include "base/mem.h"
#include "service/ledger.h"
#include "service/user_shares.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct why without_service = {.code = "policy",
                                           .text = "the service it belongs to has ended"};

static void explain_why(struct record *r, const struct why *why)
{
    record_explain(r, why->code, "%s", why->text ? why->text : "");
}

void lifecycle_engine_job(const struct service *s, struct record *r,
                          const struct job_status *status, struct engine_job *job)
{
    static const char *const nothing[] = {NULL};
    static char token[AUTH_JOB_TOKEN_SIZE]; /* of the loop's thread, for one call */
    const struct store_request *q = &r->stored->request;

    r->engine_count = status->device_count;
    memcpy(r->engine_devices, status->devices, sizeof(r->engine_devices));
    r->told = status->job;
    r->told.need = record_job(r)->need;
    *job = (struct engine_job){
        .job = &r->told,
        .attempt = r->attempt,
        .replica = r->replicas.number,
        .uid = q->uid,
        .gid = q->gid,
        .directory = q->directory ? q->directory : "/",
        .argv = q->argv ? q->argv : nothing,
        .env = q->env ? q->env : nothing,
        .output = q->output,
        .metrics_url = q->metrics_url,
        .metrics_counter = q->metrics_counter,
        .progress_file = q->progress_file,
        .stop_grace_s = fmin(q->stop_grace_s, s->config.limits.stop_grace_s),
        .checkpoint_signal = q->checkpoint_signal,
        .device_count = status->device_count,
        .devices = status->devices,
        .ref = r->ref[0]       ? r->ref
               : r->entered[0] ? r->entered
                               : NULL,
        .there = &r->there,
    };
    if (s->controls && reports_job_token(s, r->id, token, NULL) == 0)
        job->token = token;
}

/* ---- promises --------------------------------------------------------------------- */

void lifecycle_promise(const struct service *s, struct record *r, const struct quote *q)
{
    struct str text = {0};
    struct json_out json;

    json_out_init(&json, &text, false);
    ledger_quote_json(&json, loop_cluster(s->loop), q);
    free(r->quote_json);
    r->quote_json = str_take(&text);
    r->promised_rate = q->verdict == QUOTE_COUNTER ? NAN : q->promised_rate;
    r->offered_rate = q->verdict == QUOTE_COUNTER ? q->promised_rate : NAN;
    r->confidence = q->confidence;
    r->expected_start_s = q->start_s;
    if (isfinite(q->end_s))
        r->expected_end_s = q->end_s;
    if (q->verdict == QUOTE_QUEUED)
        record_explain(r, "capacity", "%s", q->reason);
}

void lifecycle_put_quote(struct service *s, struct tx *tx, const struct record *r,
                         const struct quote *q)
{
    const struct cluster *c = loop_cluster(s->loop);
    char neighbour[24];

    snprintf(neighbour, sizeof(neighbour), "%llu", (unsigned long long)q->neighbour);
    store_put(tx_batch(tx), &(struct store_quote){
                                .id = store_take_id(s->store, STORE_QUOTE_ID),
                                .job = r->id,
                                .user = record_user(r),
                                .at_s = service_now_s(s),
                                .verdict = ledger_verdict_name(q->verdict),
                                .rate = q->promised_rate,
                                .confidence = q->confidence,
                                .joules = q->joules,
                                .joules_low = q->joules_low,
                                .joules_high = q->joules_high,
                                .start_s = q->start_s,
                                .valid_until_s = NAN,
                                .devices = q->node >= 0 ? c->nodes[q->node].name : NULL,
                                .neighbour = q->neighbour ? neighbour : NULL,
                                .detail = r->quote_json,
                            });
}

void lifecycle_settle(struct service *s, struct record *r, const struct quote *q)
{
    bool promised = q->verdict == QUOTE_ACCEPTED;
    struct tx *tx = tx_begin(s);

    lifecycle_promise(s, r, q);
    record_explain(r, promised ? "" : "rate", "%s", promised ? "" : q->reason);
    tx_job(tx, r, &(struct tx_step){.what = promised ? "promised" : "offered"});
    lifecycle_put_quote(s, tx, r, q);
    log_info("job_settled", LOG_U64("job", r->id), LOG_NUM("needed", q->needed),
             LOG_NUM(promised ? "promised" : "offered", q->promised_rate));
    tx_commit(tx, NULL, NULL);
}

static bool is_alive(const struct service *s, uint64_t job)
{
    const struct record *r = records_get(s->records, job);

    return r && r->phase < PHASE_ENDED;
}

void lifecycle_enter(struct service *s, struct record *r)
{
    struct job job;
    double now_s = service_now_s(s);
    struct err err = {0};

    records_set_phase(s->records, r, PHASE_WAITING);
    user_shares_tell(s, r);
    job = record_share(r);
    if (loop_submit(s->loop, &job, now_s, &err) < 0) /* checked before: our own mistake */
        lifecycle_end(s, NULL, r, JOB_FAILED,
                      &(struct why){.code = "not_started", .text = err.text});
    else if (r->replicas.of && !is_alive(s, r->replicas.of))
        lifecycle_end(s, NULL, r, JOB_CANCELLED, &without_service);
    else if (r->held)
        loop_hold(s->loop, r->id, true, now_s, NULL);
    lifecycle_hand_in(s, r);
    service_want_round(s);
}

void lifecycle_hand_in(struct service *s, struct record *r)
{
    const struct job_status *status = loop_job(s->loop, r->id);
    struct engine_job job;
    struct err err = {0};

    if (r->phase != PHASE_WAITING || !status || !s->engine.ops || !s->engine.ops->enter)
        return;
    lifecycle_engine_job(s, r, status, &job);
    if (s->engine.ops->enter(s->engine.self, &job, &err) < 0)
        lifecycle_refused(s, r, err.text);
}

void lifecycle_refused(struct service *s, struct record *r, const char *text)
{
    lifecycle_end(s, NULL, r, JOB_FAILED,
                  &(struct why){.code = "not_started", .text = text});
}

/* It waits in the engine's queue too: it would stay there for ever. */
static void take_out(struct service *s, const struct record *r)
{
    struct err err = {0};

    if (r->ref[0] || r->phase >= PHASE_STARTING || !s->engine.ops ||
        !s->engine.ops->leave)
        return;
    if (s->engine.ops->leave(s->engine.self, r->id, &err) < 0)
        log_warn("leave_failed", LOG_U64("job", r->id), LOG_ERR(&err));
}

/* ---- stopping --------------------------------------------------------------------- */

/* A probe that cannot do its work is helped a little later; see engine/local/stop.c. */
#define LEAVING_SLACK_S 10.0

void lifecycle_left(struct service *s, struct record *r)
{
    if (r->leaving_holds)
        loop_left(s->loop, r->id, r->leaving_devices, r->leaving_count, service_now_s(s));
    for (int i = 0; i < r->leaving_count; i++)
        s->devices[r->leaving_devices[i]].leaving--;
    r->leaving_attempt = r->leaving_count = 0;
    r->leaving_holds = false;
    service_follow_rounds(s);
    lifecycle_launch(s);
}

static double longest_leaving_s(const struct service *s, const struct record *r,
                                enum engine_stop how)
{
    const struct store_request *q = &r->stored->request;
    double grace_s = fmin(q->stop_grace_s, s->config.limits.stop_grace_s);
    bool checkpoint = how == ENGINE_STOP_MOVE && q->checkpoint_signal > 0;

    return grace_s * (checkpoint ? 2 : 1) + LEAVING_SLACK_S;
}

/* The engine has the attempt: until it says otherwise its devices are taken. */
static void stop_attempt(struct service *s, struct record *r, enum engine_stop how)
{
    struct err err = {0};
    int rc = s->engine.ops->stop(s->engine.self, r->id, how, &err);

    if (rc < 0) {
        if (err.code != ERR_NOT_FOUND)
            log_warn("stop_failed", LOG_U64("job", r->id), LOG_ERR(&err));
        lifecycle_left(s, r);
        return;
    }
    if (rc == ENGINE_GONE)
        return;
    r->leaving_holds = true;
    r->leaving_until_s = service_now_s(s) + longest_leaving_s(s, r, how);
    loop_leaving(s->loop, r->id, r->leaving_devices, r->leaving_count,
                 r->leaving_until_s);
    log_info("job_leaving", LOG_U64("job", r->id), LOG_I64("attempt", r->leaving_attempt),
             LOG_STR("device", s->devices[r->leaving_devices[0]].name));
}

void lifecycle_stop(struct service *s, struct record *r, enum engine_stop how)
{
    if (r->phase < PHASE_STARTING || r->phase > PHASE_RUNNING || !s->engine.ops)
        return;
    r->leaving_attempt = r->attempt;
    r->leaving_steps_before = r->steps_before;
    r->leaving_count = r->engine_count;
    for (int i = 0; i < r->engine_count; i++) {
        r->leaving_devices[i] = r->engine_devices[i];
        s->devices[r->engine_devices[i]].leaving++;
    }
    stop_attempt(s, r, how);
}

void lifecycle_kill(struct service *s, struct record *r)
{
    struct err err = {0};

    if (r->leaving_holds && s->engine.ops &&
        s->engine.ops->stop(s->engine.self, r->id, ENGINE_STOP_KILL, &err) < 0 &&
        err.code != ERR_NOT_FOUND)
        log_warn("kill_failed", LOG_U64("job", r->id), LOG_ERR(&err));
}

void lifecycle_resume_leaving(struct service *s, struct record *r)
{
    enum engine_stop how =
        r->phase == PHASE_LEAVING ? ENGINE_STOP_CANCEL : ENGINE_STOP_MOVE;
    struct job_status status = {.job = *record_job(r), .device_count = r->leaving_count};
    int engine_count = r->engine_count, engine_devices[LOOP_MAX_GANG];
    struct engine_job job;

    if (r->leaving_attempt == 0)
        return;
    memcpy(status.devices, r->leaving_devices, sizeof(status.devices));
    memcpy(engine_devices, r->engine_devices, sizeof(engine_devices));
    lifecycle_engine_job(s, r, &status, &job);
    job.attempt = r->leaving_attempt;
    job.stop_grace_s =
        fmax(0, fmin(job.stop_grace_s, r->leaving_until_s - service_now_s(s)));
    for (int i = 0; i < r->leaving_count; i++)
        s->devices[r->leaving_devices[i]].leaving++;
    if (s->engine.ops->adopt(s->engine.self, &job, NULL) == 0)
        stop_attempt(s, r, how);
    else
        lifecycle_left(s, r);
    r->engine_count = engine_count;
    memcpy(r->engine_devices, engine_devices, sizeof(engine_devices));
    if (r->leaving_attempt == 0 && r->phase == PHASE_LEAVING)
        lifecycle_ended(s, r);
}

/* ---- the end ---------------------------------------------------------------------- */

/* Its service replaces it, but not without end. */
static void note_failed_replica(struct service *s, const struct record *r,
                                enum job_state state)
{
    struct record *service =
        r->replicas.of ? records_get(s->records, r->replicas.of) : NULL;

    if (!service || state != JOB_FAILED)
        return;
    replicas_failed(&service->scaling, service_now_s(s));
}

/* The service is over: so are its other replicas.  Those that are not stored yet end when
 * they are, see lifecycle_enter(). */
static void end_replicas(struct service *s, struct tx *tx, const struct record *service)
{
    struct record *found[LOOP_MAX_GANG];
    struct replica replicas[LOOP_MAX_GANG];
    int count = records_replicas(s->records, service, replicas, found);

    for (int i = 1; i < count; i++)
        if (found[i]->phase != PHASE_PENDING)
            lifecycle_end(s, tx, found[i], JOB_CANCELLED, &without_service);
}

/* It is over, as its record says. */
static void finish(struct service *s, struct tx *tx, struct record *r, const char *by,
                   double at_s)
{
    enum job_state state = r->final->state;

    records_set_phase(s->records, r, PHASE_ENDED);
    r->ended_s = at_s > 0 ? at_s : service_now_s(s);
    record_stopped(r, r->ended_s);
    s->done += state == JOB_DONE;
    s->failed += state == JOB_FAILED;
    s->cancelled += state == JOB_CANCELLED;
    tx_job(tx, r, &(struct tx_step){.what = tx_end_name(state), .by = by});
    log_info("job_ended", LOG_U64("job", r->id), LOG_STR("state", tx_end_name(state)),
             LOG_STR("reason", r->reason));
    note_failed_replica(s, r, state);
    service_want_round(s);
}

void lifecycle_ended(struct service *s, struct record *r)
{
    struct tx *tx = tx_begin(s);

    r->final->state = (enum job_state)r->leaving_end;
    finish(s, tx, r, NULL, 0);
    tx_commit(tx, NULL, NULL);
}

/* What the engine has of it ends. */
static void take_back(struct service *s, struct record *r)
{
    if (r->leaving_holds) /* it was to go on elsewhere */
        s->engine.ops->stop(s->engine.self, r->id, ENGINE_STOP_CANCEL, NULL);
    else
        lifecycle_stop(s, r, ENGINE_STOP_CANCEL);
    take_out(s, r);
}

void lifecycle_done(struct service *s, struct record *r)
{
    log_info("done_by_its_probe", LOG_U64("job", r->id), LOG_I64("attempt", r->attempt));
    take_back(s, r);
    r->exit_status = 0;
    lifecycle_end(s, NULL, r, JOB_DONE,
                  &(struct why){.code = "", .text = "its probe saw that it was done"});
}

void lifecycle_end(struct service *s, struct tx *tx, struct record *r,
                   enum job_state state, const struct why *why)
{
    const struct job_status *status = loop_job(s->loop, r->id);
    struct job_status final = {.job = *record_job(r)};
    struct tx *own;

    if (r->phase == PHASE_LEAVING) /* it ends already, whoever said so first */
        return;
    own = tx ? tx : tx_begin(s);
    if (status)
        final = *status;
    else if (r->final) /* the loop had no seat for it */
        final = *r->final;
    final.state = state;
    if (state != JOB_DONE)
        take_back(s, r);
    energy_close(s, r);
    if (status)
        loop_end_job(s->loop, r->id, service_now_s(s), NULL);
    free(r->final);
    r->final = mem_dup(&final, 1, sizeof(final));
    records_set_held(s->records, r, false);
    explain_why(r, why);
    if (r->leaving_holds) {
        r->leaving_end = (int)state;
        r->final->state = JOB_RUNNING; /* for the store, and until it has left */
        r->final->device_count = r->leaving_count;
        memcpy(r->final->devices, r->leaving_devices, sizeof(r->final->devices));
        records_set_phase(s->records, r, PHASE_LEAVING);
        tx_job(own, r, &(struct tx_step){.what = "leaving", .by = why->by});
        service_want_round(s);
    } else {
        finish(s, own, r, why->by, why->at_s);
    }
    end_replicas(s, own, r);
    if (!tx)
        tx_commit(own, NULL, NULL);
}

void lifecycle_requeue(struct service *s, struct tx *tx, struct record *r,
                       const struct why *why)
{
    const struct job_status *status = loop_job(s->loop, r->id);
    struct tx *own = tx ? tx : tx_begin(s);

    lifecycle_stop(s, r, ENGINE_STOP_MOVE);
    if (status->state == JOB_RUNNING)
        loop_requeue(s->loop, r->id, service_now_s(s), NULL);
    records_set_phase(s->records, r, PHASE_WAITING);
    record_stopped(r, service_now_s(s));
    r->steps_before = status->steps_done;
    r->rate = r->watts = r->predicted_rate = r->latency_s = NAN;
    r->promise = PROMISE_NEW;
    r->expected_end_s = NAN;
    explain_why(r, why);
    tx_job(own, r, &(struct tx_step){.what = "requeued", .by = why->by});
    log_info("job_requeued", LOG_U64("job", r->id), LOG_STR("reason", r->reason));
    if (!tx)
        tx_commit(own, NULL, NULL);
    service_want_round(s);
}

void lifecycle_give_up(struct service *s, struct record *r, const struct why *why)
{
    char text[400];
    struct why last = *why;

    if (r->tries.unfinished >= CONDUCT_UNFINISHED)
        snprintf(text, sizeof(text),
                 "given up after %d attempts in a row that were lost or could not be "
                 "started: %s",
                 r->tries.unfinished, why->text);
    else
        snprintf(text, sizeof(text), "given up after %d attempts: %s",
                 r->tries.memory_failures, why->text);
    last.text = text;
    lifecycle_end(s, NULL, r, JOB_FAILED, &last);
}

/* ---- the beginning ---------------------------------------------------------------- */

void lifecycle_place(struct service *s, struct tx *tx, struct record *r, bool moved)
{
    const struct job_status *status = loop_job(s->loop, r->id);

    r->attempt++;
    record_stopped(r, service_now_s(s));
    records_set_phase(s->records, r, PHASE_COMMITTING);
    r->steps_before = status->steps_done;
    r->rate = r->watts = r->latency_s = NAN;
    r->reference_type = status->reference_type;
    r->reference_s = status->reference_s;
    r->promise = PROMISE_NEW;
    record_explain(r, "", "%s", "");
    tx_job(tx, r, &(struct tx_step){.what = moved ? "moved" : "started"});
}

void lifecycle_placed(struct service *s, uint64_t job, int attempt, bool stored)
{
    struct record *r = records_get(s->records, job);

    if (!r || r->attempt != attempt || r->phase != PHASE_COMMITTING)
        return; /* cancelled, requeued or moved on meanwhile */
    if (stored || r->leaving_attempt > 0) {
        records_set_phase(s->records, r, PHASE_LAUNCHING);
        return;
    }
    /* An attempt nobody could tell of after a crash must not be started. */
    loop_requeue(s->loop, job, service_now_s(s), NULL);
    records_set_phase(s->records, r, PHASE_WAITING);
    record_explain(r, "policy", RECORD_NO_STORE);
}

/* Whoever got a device in the round that moved others away from it waits for them, but
 * not for one that does not go. */
void lifecycle_give_up_waiting(struct service *s)
{
    size_t count;
    struct record *const *busy = records_busy(s->records, &count);
    vec_of(uint64_t) due = {0};
    int device;

    for (size_t i = 0; i < count; i++) {
        const struct job_status *status = loop_job(s->loop, busy[i]->id);
        const struct device_leaving *other = busy[i]->phase == PHASE_LAUNCHING && status
                                                 ? service_in_the_way(s, status, &device)
                                                 : NULL;

        if (other && other->until_s < service_now_s(s))
            vec_push(&due, busy[i]->id);
    }
    vec_each (uint64_t, id, &due)
        lifecycle_requeue(s, NULL, records_get(s->records, *id),
                          &(struct why){.code = "leaving",
                                        .text = "the job before it does not leave its "
                                                "device"});
    vec_free(&due);
}

static void not_started(struct service *s, struct record *r, const struct err *err)
{
    struct why why = {.code = "not_started", .text = err->text};

    log_warn("start_failed", LOG_U64("job", r->id), LOG_ERR(err));
    records_set_phase(s->records, r,
                      PHASE_LAUNCHING); /* the engine has nothing of it to stop */
    if (conduct_ended(s->loop, r->id, ENGINE_END_NOT_STARTED, &r->tries, service_now_s(s),
                      NULL) == CONDUCT_FAILED)
        lifecycle_give_up(s, r, &why);
    else
        lifecycle_requeue(s, NULL, r, &why);
}

static void launch(struct service *s, struct record *r, const struct job_status *status)
{
    struct engine_job job;
    struct err err = {0};

    lifecycle_engine_job(s, r, status, &job);
    records_set_phase(s->records, r, PHASE_STARTING);
    if (s->engine.ops->start(s->engine.self, &job, &err) < 0) {
        not_started(s, r, &err);
        return;
    }
    log_info("job_started", LOG_U64("job", r->id), LOG_I64("attempt", r->attempt),
             LOG_STR("device", s->devices[status->devices[0]].name),
             LOG_I64("devices", status->device_count));
}

void lifecycle_launch(struct service *s)
{
    size_t count;
    struct record *const *busy = records_busy(s->records, &count);
    vec_of(uint64_t) due = {0};
    int device;

    for (size_t i = 0; i < count; i++)
        if (busy[i]->phase == PHASE_LAUNCHING && busy[i]->leaving_attempt == 0)
            vec_push(&due, busy[i]->id);
    vec_each (uint64_t, id, &due) { /* the list changes below */
        struct record *r = records_get(s->records, *id);
        const struct job_status *status = loop_job(s->loop, *id);

        if (s->engine.ops && r && r->phase == PHASE_LAUNCHING && status &&
            status->state == JOB_RUNNING && !service_in_the_way(s, status, &device))
            launch(s, r, status);
    }
    vec_free(&due);
}
