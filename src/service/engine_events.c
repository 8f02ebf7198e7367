/* engine_events.c - what the engine and the probes tell
 *
 * service.c gives engine_events_event() to the engine, handle_learning.c hands over what
 * jobs measure themselves.  The loop learns of it through engine/conduct, the store and
 * the clients that follow hear of it, and lifecycle.c ends or requeues jobs. */
#include "service/service_private.h"

#include "base/log.h"
#include "engine/conduct.h"
#include "loop/cluster.h"
#include "service/daemon_metrics.h"
#include "service/end_why.h"
#include "service/lifecycle.h"
#include "service/replica_jobs.h"
#include "service/views.h"
#include "store/rows.h"

#include <math.h>
#include <string.h>

/* ---- measurements ----------------------------------------------------------------- */

static void store_sample(struct service *s, const struct record *r,
                         const struct engine_event *x)
{
    const struct job_status *status = loop_job(s->loop, r->id);
    struct store_batch *batch = store_batch_create();
    struct err err = {0};

    store_put(batch, &(struct store_measurement){
                         .job = r->id,
                         .attempt = x->attempt,
                         .device = status && status->device_count > 0
                                       ? s->devices[status->devices[0]].name
                                       : NULL,
                         .at_s = x->measurement.at_s,
                         .window_s = x->measurement.window_s,
                         .rate = x->measurement.rate,
                         .watts = x->measurement.device_watts,
                         .steps = r->steps_before + x->steps,
                         .latency_s = x->measurement.latency_s,
                         .median_s = x->measurement.median_s,
                         .busy = x->measurement.busy,
                         .held = x->measurement.held,
                         .source = x->source,
                         .confidence = x->confidence,
                         .out_of_memory = x->measurement.out_of_memory,
                     });
    if (store_commit(s->store, batch, STORE_RELAXED, NULL, NULL, &err) < 0)
        store_batch_destroy(batch); /* telemetry may be lost; the stats count it */
}

/* Of a service; null where the window does not tell. */
static void tell_positive(struct json_out *out, const char *key, double value)
{
    json_out_key_number(out, key, value > 0 ? value : NAN);
}

static void tell_sample(struct service *s, const struct record *r,
                        const struct engine_event *x, double demand)
{
    struct str data = {0};
    struct json_out out;

    json_out_init(&out, &data, false);
    json_out_begin_object(&out);
    json_out_key_int(&out, "job", (int64_t)r->id);
    json_out_key_number(&out, "at_s", x->measurement.at_s);
    json_out_key_number(&out, "rate", x->measurement.rate);
    json_out_key_number(&out, "watts", x->measurement.device_watts);
    json_out_key_number(&out, "demand_rate", demand);
    tell_positive(&out, "latency_s", x->measurement.latency_s);
    tell_positive(&out, "median_s", x->measurement.median_s);
    tell_positive(&out, "busy", x->measurement.busy);
    tell_positive(&out, "held", x->measurement.held);
    json_out_key_number(&out, "steps_done", r->steps_before + x->steps);
    json_out_key_number(&out, "short_since_s", r->promise.below_since_s);
    json_out_end(&out);
    tx_tell(s, "measurement", r, &data);
}

void engine_events_demand(struct service *s, struct record *r, double demand)
{
    r->demand = demand;
    r->demand_at_s = service_now_s(s);
    conduct_demand(s->loop, r->id, demand, service_now_s(s));
    replica_jobs_measured(s, r);
    service_follow_rounds(s);
}

/* The loop has observed once, and says what it saw and what it had expected. */
static void note_observed(struct service *s, const struct record *r,
                          const struct loop_observed *seen)
{
    if (!seen->seen.out_of_memory && !seen->seen.floor) {
        daemon_metrics_prediction(s, &seen->expected.rate[seen->seen.subject],
                                  seen->seen.rate);
        beliefs_moved_note(s, r, seen);
    }
    service_follow_rounds(s);
}

void engine_events_refused(struct service *s, struct record *r,
                           enum record_refusal refusal)
{
    r->refused[refusal]++;
    metric_add(s->figures->refused, 1, METRIC_LABELS(record_refusal_name(refusal)));
}

/* Why the window taught nothing; TAKEN: it was learned from, or had nothing to learn. */
static enum record_refusal learn(struct service *s, struct record *r,
                                 const struct engine_event *x, struct err *err)
{
    struct conduct_window window = {.measurement = x->measurement,
                                    .now_s = service_now_s(s),
                                    .steps = x->steps,
                                    .steps_before = r->steps_before};
    struct loop_observed seen = {0};

    window.measurement.doubt = 1 - x->confidence;
    if (conduct_measured(s->loop, &window, &seen, err) < 0) {
        engine_events_refused(s, r, seen.refusal);
        return seen.refusal;
    }
    if (x->measurement.rate > 0)
        note_observed(s, r, &seen);
    if (seen.settled)
        lifecycle_settle(s, r, seen.settled);
    return RECORD_TAKEN;
}

static void check_promise(struct service *s, struct record *r, double window_s)
{
    const struct job_status *status = loop_job(s->loop, r->id);
    struct promise_facts facts = {.promised_rate = r->promised_rate,
                                  .rate = r->rate,
                                  .window_s = window_s,
                                  .latency_s = r->latency_s,
                                  .tolerance = s->config.guard.tolerance};
    struct promise_time time;

    if (!status || status->state != JOB_RUNNING)
        return;
    time = promise_check(&r->promise, status, &facts, service_now_s(s));
    s->promised_s += time.promised_s;
    s->kept_s += time.kept_s;
}

/* When it will be done, as far as it is. */
static void expect_end(struct service *s, struct record *r)
{
    double now_s = service_now_s(s);

    if (r->rate > 0)
        r->expected_end_s = now_s + loop_time_left_s(s->loop, r->id, r->rate, now_s);
}

int engine_events_measured(struct service *s, struct record *r,
                           const struct engine_event *e, double demand, struct err *err)
{
    double rate = r->rate, rate_at_s = r->rate_at_s, latency_s = r->latency_s;
    enum record_refusal refusal;

    if (r->attempt != e->attempt || r->phase != PHASE_RUNNING)
        return err_set(err, ERR_NOT_FOUND, "attempt %d of job %llu does not run",
                       e->attempt, (unsigned long long)r->id);
    if (e->measurement.latency_s > 0)
        r->latency_s = e->measurement.latency_s;
    if (isfinite(demand))
        engine_events_demand(s, r, demand);
    if (e->measurement.rate > 0) {
        r->rate = e->measurement.rate;
        r->rate_at_s = e->measurement.at_s;
    }
    refusal = learn(s, r, e, err);
    if (record_refusal_is_false(refusal)) {
        r->rate = rate;
        r->rate_at_s = rate_at_s;
        r->latency_s = latency_s;
        return -1;
    }
    expect_end(s, r);
    store_sample(s, r, e);
    if (e->measurement.rate > 0 || e->measurement.latency_s > 0)
        check_promise(s, r, e->measurement.window_s);
    tell_sample(s, r, e, demand);
    return refusal == RECORD_TAKEN ? 0 : -1;
}

static void on_measured(struct service *s, const struct engine_event *told)
{
    struct record *r = records_get(s->records, told->job);
    struct engine_event e = *told;

    if (!r)
        return;
    e.measurement.job = r->id;
    if (e.attempt == 0)
        e.attempt = r->attempt;
    if (engine_events_measured(s, r, &e, NAN, NULL) == 0 && e.measurement.rate > 0)
        r->measured_attempt = e.attempt;
}

static void on_demand(struct service *s, const struct engine_event *e)
{
    struct record *r = records_get(s->records, e->job);

    if (r && r->phase == PHASE_RUNNING)
        engine_events_demand(s, r, e->measurement.rate);
    else if (r && e->measurement.rate > 0)
        replica_jobs_asked(s, r, e->measurement.rate);
}

/* ---- beginnings and ends ---------------------------------------------------------- */

static bool same_devices(const struct record *r, const struct engine_event *e)
{
    return e->device_count == r->engine_count &&
           memcmp(e->devices, r->engine_devices,
                  (size_t)e->device_count * sizeof(*e->devices)) == 0;
}

/* The engine gave it others than it was told to. */
static void seat_where_it_is(struct service *s, struct record *r,
                             const struct engine_event *e)
{
    struct err err = {0};
    struct tx *tx;

    if (e->device_count == 0 || e->device_count > LOOP_MAX_GANG || same_devices(r, e))
        return;
    if (loop_seat(s->loop, r->id, e->devices, e->device_count, e->at_s, &err) < 0) {
        log_warn("seat_failed", LOG_U64("job", r->id), LOG_ERR(&err));
        return;
    }
    r->engine_count = e->device_count;
    memcpy(r->engine_devices, e->devices, (size_t)e->device_count * sizeof(*e->devices));
    tx = tx_begin(s);
    tx_job(tx, r, &(struct tx_step){.what = "moved"});
    tx_commit(tx, NULL, NULL);
}

static void on_entered(struct service *s, const struct engine_event *e)
{
    struct record *r = records_get(s->records, e->job);
    struct tx *tx;

    if (!r || r->phase >= PHASE_LEAVING)
        return;
    if (e->kind == ENGINE_REFUSED) {
        lifecycle_refused(s, r, e->text);
        return;
    }
    if (!e->text || strcmp(r->entered, e->text) == 0)
        return;
    str_copy(r->entered, sizeof(r->entered), e->text);
    tx = tx_begin(s);
    tx_job(tx, r, &(struct tx_step){.what = "entered"});
    tx_commit(tx, NULL, NULL);
}

static void on_started(struct service *s, const struct engine_event *e)
{
    struct record *r = records_get(s->records, e->job);

    if (r && r->ref[0])
        found_jobs_started(s, r, e);
    if (!r || r->ref[0] || r->attempt != e->attempt || r->phase != PHASE_STARTING)
        return;
    records_set_phase(s->records, r, PHASE_RUNNING);
    if (!isfinite(r->began_s)) /* else it was adopted */
        r->began_s = e->at_s;
    seat_where_it_is(s, r, e);
}

/* Its probe has said that it is done, and the engine lost sight of it: it must not run
 * again. */
static bool was_done(const struct record *r, const struct engine_event *e)
{
    int attempt = e->attempt > 0 ? e->attempt : r->attempt;

    return r->done_attempt > 0 && r->done_attempt == attempt &&
           (e->end == ENGINE_END_REQUEUED || e->end == ENGINE_END_NO_ROOM ||
            e->end == ENGINE_END_UNKNOWN || e->end == ENGINE_END_LOST ||
            e->end == ENGINE_END_STOPPED);
}

/* The engine has nothing of this attempt any more. */
static void ended(struct service *s, struct record *r, const struct engine_event *e)
{
    struct loop_observed seen = {0};
    char text[END_WHY_SIZE];
    struct why why = end_why(e, text);
    enum conduct_fate fate;

    conduct_progress(s->loop, r->id, r->steps_before, e->steps);
    fate = conduct_ended(s->loop, r->id, e->end, &r->tries, service_now_s(s), &seen);
    if (seen.seen.out_of_memory)
        note_observed(s, r, &seen);
    records_set_phase(s->records, r, PHASE_LAUNCHING);
    if (fate == CONDUCT_AGAIN) {
        lifecycle_requeue(s, NULL, r, &why);
    } else if (fate == CONDUCT_DONE) {
        r->exit_status = 0;
        lifecycle_end(s, NULL, r, JOB_DONE, &why);
    } else if (fate == CONDUCT_CANCELLED) {
        lifecycle_end(s, NULL, r, JOB_CANCELLED, &why);
    } else if (e->end == ENGINE_END_FAILED) {
        r->exit_status = e->signal > 0 ? -1 : e->exit_status;
        r->signal = e->signal;
        lifecycle_end(s, NULL, r, JOB_FAILED, &why);
    } else if (e->end == ENGINE_END_TIME_LIMIT || e->end == ENGINE_END_UNKNOWN) {
        lifecycle_end(s, NULL, r, JOB_FAILED, &why);
    } else {
        lifecycle_give_up(s, r, &why);
    }
}

static void ended_as(struct service *s, struct record *r, const struct engine_event *e)
{
    if (!was_done(r, e)) {
        ended(s, r, e);
        return;
    }
    records_set_phase(s->records, r, PHASE_LAUNCHING);
    lifecycle_done(s, r);
}

/* Its end was stored when it was told to stop; what it drew until it had is added. */
static void store_last_joules(struct service *s, const struct record *r)
{
    struct store_batch *batch = store_batch_create();

    tx_put_progress(s, batch, r);
    if (store_commit(s->store, batch, STORE_DURABLE, NULL, NULL, NULL) < 0)
        store_batch_destroy(batch);
}

/* A cancelled job has its reason; how it went is added when it is known. */
static void add_how_it_went(struct record *r, const struct engine_event *e)
{
    size_t used = strlen(r->reason);

    bool cancelled = r->phase == PHASE_LEAVING ? r->leaving_end == JOB_CANCELLED
                                               : r->final->state == JOB_CANCELLED;

    if (cancelled && e->text && *e->text)
        snprintf(r->reason + used, sizeof(r->reason) - used, "%s%s", used ? ": " : "",
                 e->text);
}

/* Its devices are free now, and it waits for others. */
static void tell_left(struct service *s, struct record *r)
{
    struct tx *tx = tx_begin(s);

    tx_job(tx, r, &(struct tx_step){.what = "left"});
    tx_commit(tx, NULL, NULL);
}

static void on_ended(struct service *s, const struct engine_event *e)
{
    struct record *r = records_get(s->records, e->job);

    if (!r)
        return;
    if (r->ref[0]) {
        found_jobs_ended(s, r, e);
        return;
    }
    if (e->attempt == 0) { /* the engine does not have the job itself any more */
        if (r->phase > PHASE_PENDING && r->phase < PHASE_LEAVING)
            ended_as(s, r, e);
        return;
    }
    if (e->attempt == r->leaving_attempt) {
        const struct job_status *status = loop_job(s->loop, r->id);
        bool held = r->leaving_holds;

        conduct_progress(s->loop, r->id, r->leaving_steps_before, e->steps);
        if (status)
            r->steps_before = status->steps_done;
        lifecycle_left(s, r);
        if (r->phase == PHASE_LEAVING) {
            if (isfinite(e->steps))
                r->final->steps_done = r->leaving_steps_before + e->steps;
            add_how_it_went(r, e);
            lifecycle_ended(s, r);
            return;
        }
        if (held && r->phase == PHASE_WAITING && e->end != ENGINE_END_DONE)
            tell_left(s, r);
        /* It was done before it could be stopped: then it is done. */
        if (e->end == ENGINE_END_DONE && !r->final) {
            r->exit_status = 0;
            lifecycle_end(s, NULL, r, JOB_DONE, &(struct why){.code = ""});
        } else if (was_done(r, e) && !r->final) {
            lifecycle_done(s, r);
        }
        if (r->final) {
            add_how_it_went(r, e);
            store_last_joules(s, r);
        }
        if (r->gone)
            records_drop(s->records, r);
        return;
    }
    if (e->attempt != r->attempt || r->phase < PHASE_STARTING || r->phase > PHASE_RUNNING)
        return;
    ended_as(s, r, e);
}

/* ---- nodes and devices ------------------------------------------------------------ */

static void cluster_event(struct service *s, const char *type, const char *name,
                          const char *what, const char *text)
{
    struct tx *tx = tx_begin(s);
    struct json_out *out = tx_event(tx, type, NULL);

    log_info("cluster", LOG_STR("name", name), LOG_STR("what", what),
             LOG_STR("text", text));
    json_out_key_string(out, "name", name);
    json_out_key_string(out, "what", what);
    json_out_key_string(out, "reason", text);
    json_out_key_number(out, "at_s", service_now_s(s));
    tx_commit(tx, NULL, NULL);
    service_want_round(s);
}

/* Jobs on lost devices go back to the queue; the engine has lost them, or stops them. */
static void lose_jobs(struct service *s, int device, const char *text)
{
    const struct device *d = &loop_cluster(s->loop)->devices[device];

    while (d->job_count > 0)
        lifecycle_requeue(
            s, NULL, records_get(s->records, d->jobs[0]),
            &(struct why){.code = "lost", .text = text ? text : "its device is gone"});
}

static void on_node(struct service *s, const struct engine_event *e)
{
    const struct cluster *c = loop_cluster(s->loop);
    const struct node *node = &c->nodes[e->node];
    static const char *const words[] = {[ENGINE_NODE_AWAKE] = "awake",
                                        [ENGINE_NODE_UP] = "up",
                                        [ENGINE_NODE_DOWN] = "down",
                                        [ENGINE_NODE_FALLING] = "falling_asleep",
                                        [ENGINE_NODE_ASLEEP] = "asleep"};

    if ((s->advises || s->controls) && e->kind == ENGINE_NODE_DOWN) {
        /* it says itself what is lost */
        loop_set_node(s->loop, e->node, NODE_DOWN, service_now_s(s));
    } else {
        for (int i = 0; e->kind == ENGINE_NODE_DOWN && i < node->device_count; i++)
            lose_jobs(s, node->first_device + i, e->text);
        conduct_node(s->loop, e, service_now_s(s));
    }
    cluster_event(s, "node", node->name, words[e->kind], e->text);
}

static void on_device(struct service *s, const struct engine_event *e)
{
    double now_s = service_now_s(s);

    if (e->kind == ENGINE_DEVICE_LOST) {
        lose_jobs(s, e->device, e->text);
        loop_device_failed(s->loop, e->device, now_s);
        cluster_event(s, "device", s->devices[e->device].name, "lost", e->text);
    } else {
        loop_device_repaired(s->loop, e->device, now_s);
        cluster_event(s, "device", s->devices[e->device].name, "back", NULL);
    }
}

static void on_taken(struct service *s, const struct engine_event *e)
{
    bool taken = e->kind == ENGINE_DEVICE_TAKEN;

    str_copy(s->devices[e->device].reason, SERVICE_REASON_SIZE,
             taken && e->text ? e->text : "");
    loop_device_taken(s->loop, e->device, taken, service_now_s(s));
    cluster_event(s, "device", s->devices[e->device].name, taken ? "taken" : "free",
                  e->text);
}

static void on_drained(struct service *s, const struct engine_event *e)
{
    const struct node *node = &loop_cluster(s->loop)->nodes[e->node];
    bool drained = e->kind == ENGINE_NODE_DRAINED;

    s->nodes[e->node].drained = drained;
    str_copy(s->nodes[e->node].reason, SERVICE_REASON_SIZE,
             drained && e->text ? e->text : "");
    for (int i = 0; i < node->device_count; i++)
        loop_drain(s->loop, node->first_device + i, drained, service_now_s(s), NULL);
    cluster_event(s, "node", node->name, drained ? "drained" : "undrained", e->text);
}

static void on_added(struct service *s, const struct engine_event *e)
{
    loop_add_node(s->loop, e->spec, service_now_s(s));
    service_name_devices(s);
    cluster_event(s, "node", e->spec->name, "added", NULL);
}

static void on_line(struct service *s, const struct engine_event *e)
{
    bool online = e->kind == ENGINE_ONLINE;

    str_copy(s->offline, sizeof(s->offline),
             online    ? ""
             : e->text ? e->text
                       : "it cannot be reached");
    cluster_event(s, "engine", s->engine.ops ? s->engine.ops->name : "engine",
                  online ? "online" : "offline", e->text);
}

void engine_events_event(void *ctx, const struct engine_event *e)
{
    struct service *s = ctx;

    switch (e->kind) {
    case ENGINE_STARTED:
        on_started(s, e);
        break;
    case ENGINE_ENDED:
        on_ended(s, e);
        break;
    case ENGINE_MEASURED:
        on_measured(s, e);
        break;
    case ENGINE_DEMAND:
        on_demand(s, e);
        break;
    case ENGINE_POWER:
        energy_power(s, e);
        break;
    case ENGINE_HOST_POWER:
        energy_host_power(s, e);
        break;
    case ENGINE_NODE_AWAKE:
    case ENGINE_NODE_DOWN:
    case ENGINE_NODE_UP:
    case ENGINE_NODE_FALLING:
    case ENGINE_NODE_ASLEEP:
        on_node(s, e);
        break;
    case ENGINE_NODE_ROOM:
        loop_set_room(s->loop, e->node, e->room, service_now_s(s));
        break;
    case ENGINE_NODE_ACCESS:
        loop_set_access(s->loop, e->node, e->access, service_now_s(s));
        str_copy(s->nodes[e->node].partitions, sizeof(s->nodes[e->node].partitions),
                 e->text);
        break;
    case ENGINE_GROUP_ENDS:
        loop_set_group_end(s->loop, e->group, e->ends_s, service_now_s(s));
        break;
    case ENGINE_JOB_BOUND:
        found_jobs_bound(s, e);
        break;
    case ENGINE_ENTERED:
    case ENGINE_REFUSED:
        on_entered(s, e);
        break;
    case ENGINE_NODE_DRAINED:
    case ENGINE_NODE_UNDRAINED:
        on_drained(s, e);
        break;
    case ENGINE_NODE_ADDED:
        on_added(s, e);
        break;
    case ENGINE_DEVICE_TAKEN:
    case ENGINE_DEVICE_FREE:
        on_taken(s, e);
        break;
    case ENGINE_JOB_FOUND:
        found_jobs_found(s, e);
        break;
    case ENGINE_JOB_CHANGED:
        found_jobs_changed(s, e);
        break;
    case ENGINE_JOB_BELONGS:
        found_jobs_belong(s, e);
        break;
    case ENGINE_JOB_COUNTED:
        found_jobs_counted(s, e);
        break;
    case ENGINE_NOTICE:
        str_copy(s->notice, sizeof(s->notice), e->text ? e->text : "");
        log_warn("engine", LOG_STR("text", e->text ? e->text : "no longer so"));
        break;
    case ENGINE_OFFLINE:
    case ENGINE_ONLINE:
        on_line(s, e);
        break;
    case ENGINE_DEVICE_LOST:
    case ENGINE_DEVICE_BACK:
        on_device(s, e);
        break;
    case ENGINE_WARNING:
        log_warn("engine", LOG_U64("job", e->job), LOG_STR("text", e->text));
        break;
    }
}
