/* engine_events.c - see engine_events.h */
#include "service/engine_events.h"

#include "base/log.h"
#include "loop/estimate/predict.h"
#include "loop/cluster.h"
#include "service/energy_books.h"
#include "service/daemon_metrics.h"
#include "service/decisions.h"
#include "service/promise_guard.h"
#include "service/lifecycle.h"
#include "service/planning_thread.h"
#include "service/replica_jobs.h"
#include "service/rounds.h"
#include "service/views.h"
#include "store/telemetry.h"

#include <math.h>
#include <string.h>

#define MEMORY_FAILURES_MAX 8

/* ---- measurements ----------------------------------------------------------------- */

static void store_sample(struct service *s, const struct record *r,
                         const struct engine_events_sample *x)
{
    const struct job_status *status = loop_job(s->loop, r->id);
    struct store_batch *batch = store_batch_create();
    struct err err = {0};

    store_add_measurement(batch, &(struct store_measurement){
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
                                     .latency_s = x->latency_s,
                                     .source = x->source,
                                     .confidence = x->confidence,
                                     .out_of_memory = x->measurement.out_of_memory,
                                 });
    if (store_commit(s->store, batch, STORE_RELAXED, NULL, NULL, &err) < 0)
        store_batch_destroy(batch); /* telemetry may be lost; the stats count it */
}

static void tell_sample(struct service *s, const struct record *r,
                        const struct engine_events_sample *x)
{
    struct str data = {0};
    struct json_out out;

    json_out_init(&out, &data, false);
    json_out_begin_object(&out);
    json_out_key_int(&out, "job", (int64_t)r->id);
    json_out_key_number(&out, "at_s", x->measurement.at_s);
    views_number(&out, "rate", x->measurement.rate);
    views_number(&out, "watts", x->measurement.device_watts);
    views_number(&out, "demand_rate", x->demand);
    views_number(&out, "latency_s", x->latency_s > 0 ? x->latency_s : NAN);
    views_number(&out, "steps_done", r->steps_before + x->steps);
    json_out_end(&out);
    tx_tell(s, "measurement", r, &data);
}

static void follow_demand(struct service *s, struct record *r, double demand)
{
    double before = r->demand;

    r->demand = demand;
    r->demand_at_s = service_now_s(s);
    loop_set_demand(s->loop, r->id, demand, service_now_s(s), NULL);
    replica_jobs_measured(s, r);
    if (!isfinite(before) || fabs(demand - before) > 0.2 * fmax(before, 1e-9))
        rounds_poke(s);
}

/* The loop observes once, and says what it saw and what it had expected. */
static int learn(struct service *s, const struct engine_events_sample *x, struct err *err)
{
    struct measurement m = x->measurement;
    struct loop_observed seen;

    m.doubt = 1 - x->confidence;
    m.latency_s = x->latency_s;
    if (loop_measure(s->loop, &m, &seen, err) < 0) {
        daemon_metrics_refused(s, record_refusal_name(seen.refusal));
        return -1;
    }
    if (!m.out_of_memory)
        daemon_metrics_prediction(s, &seen.expected.rate[seen.seen.subject],
                                  seen.seen.rate);
    rounds_follow(s);
    return 0;
}

static void set_progress(struct service *s, struct record *r, double steps)
{
    const struct job_status *status = loop_job(s->loop, r->id);
    double done = r->steps_before + steps, left;

    if (!isfinite(steps) || !status)
        return;
    loop_set_progress(s->loop, r->id, done, NULL);
    left = status->job.total_steps - done;
    if (status->job.total_steps > 0 && r->rate > 0)
        r->expected_end_s = service_now_s(s) + fmax(0, left) / r->rate;
}

int engine_events_measured(struct service *s, struct record *r,
                           const struct engine_events_sample *x, struct err *err)
{
    int rc = 0;

    if (r->attempt != x->attempt || r->phase != PHASE_RUNNING)
        return err_set(err, ERR_NOT_FOUND, "attempt %d of job %llu does not run",
                       x->attempt, (unsigned long long)r->id);
    if (x->latency_s > 0)
        r->latency_s = x->latency_s;
    if (isfinite(x->demand))
        follow_demand(s, r, x->demand);
    if (x->measurement.rate > 0) {
        r->rate = x->measurement.rate;
        r->rate_at_s = x->measurement.at_s;
        rc = learn(s, x, err);
    }
    set_progress(s, r, x->steps);
    store_sample(s, r, x);
    tell_sample(s, r, x);
    if (x->measurement.rate > 0 || x->latency_s > 0)
        guard_check(s, r);
    return rc;
}

static void on_measured(struct service *s, const struct engine_event *e)
{
    struct record *r = records_get(s->records, e->job);
    struct engine_events_sample x = {.measurement = e->measurement,
                                     .attempt = e->attempt,
                                     .steps = e->steps,
                                     .demand = NAN,
                                     .latency_s = e->latency_s,
                                     .source = e->source,
                                     .confidence = e->confidence};

    if (!r)
        return;
    x.measurement.job = r->id;
    if (x.attempt == 0)
        x.attempt = r->attempt;
    engine_events_measured(s, r, &x, NULL);
}

static void on_demand(struct service *s, const struct engine_event *e)
{
    struct record *r = records_get(s->records, e->job);

    if (r && r->phase == PHASE_RUNNING)
        follow_demand(s, r, e->measurement.rate);
    else if (r && e->measurement.rate > 0)
        replica_jobs_asked(s, r, e->measurement.rate);
}

/* ---- beginnings and ends ---------------------------------------------------------- */

static void on_started(struct service *s, const struct engine_event *e)
{
    struct record *r = records_get(s->records, e->job);

    if (!r || r->attempt != e->attempt || r->phase != PHASE_STARTING)
        return;
    records_set_phase(s->records, r, PHASE_RUNNING);
    r->began_s = e->at_s;
    r->start_failures = 0;
    if (!isfinite(r->reference_watts)) /* adopted: it was placed before a restart */
        decisions_reference(s, r);
}

static void out_of_memory(struct service *s, struct record *r,
                          const struct engine_event *e)
{
    struct engine_events_sample x = {.measurement = {.job = r->id,
                                                     .at_s = service_now_s(s),
                                                     .window_s = 1,
                                                     .device_watts = NAN,
                                                     .out_of_memory = true},
                                     .confidence = 1};
    struct why why = {.code = "out_of_memory",
                      .text = e->text ? e->text : "the device had too little memory"};

    learn(s, &x, NULL);
    records_set_phase(s->records, r, PHASE_LAUNCHING);
    if (++r->memory_failures >= MEMORY_FAILURES_MAX)
        lifecycle_end(s, NULL, r, JOB_FAILED, &why);
    else
        lifecycle_requeue(s, NULL, r, &why);
}

/* Status or signal, and what the engine says of it: only it has seen the job.  Its text
 * may begin with the status itself. */
static void describe_failure(const struct engine_event *e, char *text, size_t size)
{
    bool more = e->text && *e->text;

    if (more && str_starts(e->text, "exit status"))
        snprintf(text, size, "ended with %s", e->text);
    else if (more && str_starts(e->text, "ended by signal"))
        snprintf(text, size, "%s", e->text);
    else if (e->signal > 0)
        snprintf(text, size, "ended by signal %d (%s)%s%s", e->signal,
                 strsignal(e->signal), more ? ": " : "", more ? e->text : "");
    else
        snprintf(text, size, "ended with exit status %d%s%s", e->exit_status,
                 more ? ": " : "", more ? e->text : "");
}

static void own_failure(struct service *s, struct record *r, const struct engine_event *e)
{
    char text[208];

    r->exit_status = e->signal > 0 ? -1 : e->exit_status;
    r->signal = e->signal;
    describe_failure(e, text, sizeof(text));
    lifecycle_end(s, NULL, r, JOB_FAILED,
                  &(struct why){.code = e->signal > 0 ? "signal" : "exit", .text = text});
}

static void not_started(struct service *s, struct record *r, const struct engine_event *e)
{
    struct why why = {.code = "not_started",
                      .text = e->text ? e->text : "it could not be started"};

    if (++r->start_failures >= 3)
        lifecycle_end(s, NULL, r, JOB_FAILED, &why);
    else
        lifecycle_requeue(s, NULL, r, &why);
}

/* The engine has nothing of this attempt any more. */
static void ended(struct service *s, struct record *r, const struct engine_event *e)
{
    set_progress(s, r, e->steps);
    records_set_phase(s->records, r, PHASE_LAUNCHING);
    switch (e->end) {
    case ENGINE_END_DONE:
        r->exit_status = 0;
        lifecycle_end(s, NULL, r, JOB_DONE, &(struct why){.code = "", .text = e->text});
        break;
    case ENGINE_END_FAILED:
        own_failure(s, r, e);
        break;
    case ENGINE_END_OUT_OF_MEMORY:
        out_of_memory(s, r, e);
        break;
    case ENGINE_END_NOT_STARTED:
        not_started(s, r, e);
        break;
    case ENGINE_END_STOPPED:
        lifecycle_requeue(s, NULL, r,
                          &(struct why){.code = "lost", .text = "the engine stopped it"});
        break;
    case ENGINE_END_LOST:
        lifecycle_requeue(
            s, NULL, r,
            &(struct why){.code = "lost",
                          .text = e->text ? e->text : "it ended while nobody looked"});
        break;
    }
}

/* Its end was stored when it was told to stop; what it drew until it had is added. */
static void store_last_joules(struct service *s, const struct record *r)
{
    struct store_batch *batch = store_batch_create();
    struct str devices = {0}, extra = {0};
    struct store_progress progress;

    tx_progress(s, r, r->final, &progress, &devices, &extra);
    store_update_progress(batch, r->id, &progress);
    if (store_commit(s->store, batch, STORE_DURABLE, NULL, NULL, NULL) < 0)
        store_batch_destroy(batch);
    str_fini(&devices);
    str_fini(&extra);
}

/* A cancelled job has its reason; how it went is added when it is known. */
static void add_how_it_went(struct record *r, const struct engine_event *e)
{
    size_t used = strlen(r->reason);

    if (r->final->state == JOB_CANCELLED && e->text && *e->text)
        snprintf(r->reason + used, sizeof(r->reason) - used, "%s%s", used ? ": " : "",
                 e->text);
}

static void on_ended(struct service *s, const struct engine_event *e)
{
    struct record *r = records_get(s->records, e->job);

    if (!r)
        return;
    if (e->attempt == r->leaving_attempt) {
        lifecycle_left(s, r);
        /* It was done before it could be stopped: then it is done. */
        if (e->end == ENGINE_END_DONE && !r->final) {
            r->exit_status = 0;
            lifecycle_end(s, NULL, r, JOB_DONE, &(struct why){.code = ""});
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
    ended(s, r, e);
}

/* ---- nodes and devices ------------------------------------------------------------ */

static void cluster_event(struct service *s, const char *type, const char *name,
                          const char *what, const char *text)
{
    struct tx *tx = tx_begin(s);
    struct str data = {0};
    struct json_out out;

    log_info("cluster", LOG_STR("name", name), LOG_STR("what", what),
             LOG_STR("text", text));
    json_out_init(&out, &data, false);
    json_out_begin_object(&out);
    json_out_key_string(&out, "name", name);
    json_out_key_string(&out, "what", what);
    json_out_key_string(&out, "reason", text);
    json_out_key_number(&out, "at_s", service_now_s(s));
    json_out_end(&out);
    tx_event(tx, type, NULL, &data);
    tx_commit(tx, NULL, NULL);
    rounds_poke(s);
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
    double now_s = service_now_s(s);

    if (e->kind == ENGINE_NODE_AWAKE) {
        loop_node_is_awake(s->loop, e->node, now_s);
        cluster_event(s, "node", node->name, "awake", NULL);
    } else if (e->kind == ENGINE_NODE_UP) {
        loop_node_repaired(s->loop, e->node, now_s);
        cluster_event(s, "node", node->name, "up", NULL);
    } else {
        for (int i = 0; i < node->device_count; i++)
            lose_jobs(s, node->first_device + i, e->text);
        loop_node_failed(s->loop, e->node, now_s);
        cluster_event(s, "node", node->name, "down", e->text);
    }
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
    case ENGINE_NODE_AWAKE:
    case ENGINE_NODE_DOWN:
    case ENGINE_NODE_UP:
        on_node(s, e);
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
