/* tx.c - rounds, lifecycle, handlers and engine events put rows and events into a tx; the
 * store's writer thread posts back when the disk has them, and clients hear of it */
#include "service/tx.h"

#include "base/log.h"
#include "base/mem.h"
#include "service/ledger.h"
#include "service/daemon_metrics.h"
#include "service/views.h"
#include "store/rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct telling {
    uint64_t id;
    const char *type;
    char *data;
    uint64_t job;
    uid_t owner;
};

struct tx {
    struct service *service;
    struct store_batch *batch;
    vec_of(struct telling) tellings;
    vec_of(uint64_t) jobs; /* that count as stored, or as dirty, in the end */
    bool open;             /* the last telling is still being written: */
    struct str data;
    struct json_out out;
    tx_done *done;
    void *ctx;
};

struct tx *tx_begin(struct service *s)
{
    struct tx *tx = mem_new(struct tx);

    tx->service = s;
    tx->batch = store_batch_create();
    return tx;
}

struct store_batch *tx_batch(struct tx *tx)
{
    return tx->batch;
}

/* ---- events ------------------------------------------------------------------------ */

static struct telling telling_of(const char *type, const struct record *record)
{
    return (struct telling){.type = type,
                            .job = record ? record->id : 0,
                            .owner =
                                record ? record->stored->request.uid : SSE_EVERYBODY};
}

static void end_event(struct tx *tx)
{
    const struct record *record;
    struct telling *t;

    if (!tx->open)
        return;
    tx->open = false;
    t = &tx->tellings.items[tx->tellings.count - 1];
    while (tx->out.depth > 0)
        json_out_end(&tx->out);
    t->data = str_take(&tx->data);
    record = t->job ? records_get(tx->service->records, t->job) : NULL;
    store_put(tx->batch,
              &(struct store_event){.id = t->id,
                                    .at_s = service_now_s(tx->service),
                                    .kind = t->type,
                                    .job = t->job,
                                    .user = record ? record_user(record) : NULL,
                                    .data = t->data});
}

static void begin_event(struct tx *tx, const char *type, const struct record *record)
{
    struct telling t = telling_of(type, record);

    end_event(tx);
    t.id = store_take_id(tx->service->store, STORE_EVENT_ID);
    vec_push(&tx->tellings, t);
    tx->open = true;
    json_out_init(&tx->out, &tx->data, false);
}

struct json_out *tx_event(struct tx *tx, const char *type, const struct record *record)
{
    begin_event(tx, type, record);
    json_out_begin_object(&tx->out);
    return &tx->out;
}

static void tell(struct service *s, const struct telling *t)
{
    const struct sse_event event = {
        .id = t->id, .type = t->type, .data = t->data, .job = t->job, .owner = t->owner};

    if (t->id > s->newest_event)
        s->newest_event = t->id;
    if (s->hub)
        sse_hub_send(s->hub, &event);
}

void tx_tell(struct service *s, const char *type, const struct record *record,
             struct str *data)
{
    struct telling t = telling_of(type, record);

    t.data = data->text;
    tell(s, &t);
    str_fini(data);
}

/* ---- the end ----------------------------------------------------------------------- */

static void free_tx(struct tx *tx)
{
    vec_each (struct telling, t, &tx->tellings)
        free(t->data);
    vec_free(&tx->tellings);
    vec_free(&tx->jobs);
    free(tx);
}

/* What the end of a transaction means for a job in it. */
static void settle(struct service *s, struct record *record, bool stored)
{
    if (!stored)
        record->dirty = true;
    else if (record->phase == PHASE_ENDED && record->leaving_attempt > 0)
        record->gone = true;
    else if (record->phase == PHASE_ENDED && !record->dirty)
        records_drop(s->records, record);
}

static void finish(struct tx *tx, const struct err *err)
{
    struct service *s = tx->service;
    bool stored = err->code == ERR_NONE, failed = s->failing;
    tx_done *done = tx->done;
    void *ctx = tx->ctx;

    if (!stored)
        log_error("store_refused", LOG_ERR(err));
    s->failing = err->code == ERR_SYSTEM || (s->failing && !stored);
    for (size_t i = 0; i < tx->tellings.count && stored; i++)
        tell(s, &tx->tellings.items[i]);
    vec_each (uint64_t, id, &tx->jobs) {
        struct record *record = records_get(s->records, *id);

        if (record)
            settle(s, record, stored);
    }
    free_tx(tx);
    if (done)
        done(ctx, err);
    if (failed && !s->failing) /* what was refused meanwhile, before anything else */
        tx_retry(s);
}

static void committed(void *ctx, const struct store_completion *completion)
{
    ((struct tx *)ctx)->service->unstored--;
    finish(ctx, &completion->err);
}

void tx_commit(struct tx *tx, tx_done *done, void *ctx)
{
    struct err err = {0};

    end_event(tx);
    tx->done = done;
    tx->ctx = ctx;
    if (store_commit(tx->service->store, tx->batch, STORE_DURABLE, committed, tx, &err) ==
        0) {
        tx->service->unstored++;
        return;
    }
    store_batch_destroy(tx->batch);
    finish(tx, &err);
}

/* ---- completions from the writer thread ------------------------------------------- */

struct delivery {
    struct service *service;
    size_t count;
    struct store_completion list[];
};

static void deliver(void *ctx)
{
    struct delivery *d = ctx;

    for (size_t i = 0; i < d->count; i++)
        d->list[i].done(d->list[i].ctx, &d->list[i]);
    reactor_did(d->service->reactor, "stored");
    free(d);
}

void tx_post(void *ctx, const struct store_completion *list, size_t count)
{
    struct service *s = ctx;
    struct delivery *d = mem_zeroed(1, sizeof(*d) + count * sizeof(*list));

    d->service = s;
    d->count = count;
    memcpy(d->list, list, count * sizeof(*list));
    reactor_post(s->reactor, deliver, d);
}

/* ---- a step in a job's life ------------------------------------------------------- */

static void add_devices(const struct service *s, const int *devices, int count,
                        struct str *out)
{
    for (int i = 0; i < count; i++)
        str_addf(out, "%s%s", i ? "," : "", s->devices[devices[i]].name);
}

struct progress_row { /* and what its texts are in */
    struct store_progress progress;
    struct str devices, extra, leaving;
};

static const struct store_progress *
fill_progress(const struct service *s, const struct record *r, struct progress_row *row)
{
    const struct job_status *status = service_status(s, r);

    add_devices(s, status->devices, status->device_count, &row->devices);
    if (r->leaving_holds)
        add_devices(s, r->leaving_devices, r->leaving_count, &row->leaving);
    record_extra_json(r, str_text(&row->leaving), &row->extra);
    row->progress = (struct store_progress){
        .job = r->id,
        .state = status->state,
        .held = r->held,
        .attempt = r->attempt,
        .started_s = status->started_s,
        .placed_s = status->placed_s,
        .ended_s = r->ended_s,
        .steps_done = status->steps_done,
        .required_rate =
            r->phase == PHASE_PENDING ? record_job(r)->need.rate : status->required_rate,
        .moves = status->moves,
        .restarts = status->restarts,
        .exit_status = r->exit_status,
        .signal = r->signal,
        .devices = row->devices.text,
        .reason = r->reason[0] ? r->reason : NULL,
        .extra = row->extra.text,
    };
    return &row->progress;
}

static void free_progress(struct progress_row *row)
{
    str_fini(&row->devices);
    str_fini(&row->extra);
    str_fini(&row->leaving);
}

void tx_put_progress(const struct service *s, struct store_batch *batch,
                     const struct record *r)
{
    struct progress_row row = {0};

    store_put(batch, fill_progress(s, r, &row));
    free_progress(&row);
}

static void add_event(struct tx *tx, const struct record *r,
                      const struct job_status *status, const struct tx_step *step)
{
    struct json_out *out = tx_event(tx, "job", r);

    json_out_key_int(out, "id", (int64_t)r->id);
    json_out_key_string(out, "name", record_job(r)->name);
    json_out_key_string(out, "user", record_user(r));
    json_out_key_string(out, "what", step->what);
    json_out_key_string(out, "state", views_record_state(tx->service, r));
    json_out_key_string(out, "reason", r->reason[0] ? r->reason : NULL);
    json_out_key_string(out, "by", step->by);
    json_out_key_int(out, "attempt", r->attempt);
    json_out_key_number(out, "at_s", service_now_s(tx->service));
    json_out_key(out, "devices");
    views_places(out, tx->service, status->devices, status->device_count);
}

void tx_job(struct tx *tx, struct record *r, const struct tx_step *step)
{
    const struct job_status *status = service_status(tx->service, r);
    struct progress_row row = {0};
    const struct store_progress *progress = fill_progress(tx->service, r, &row);
    struct str reason = {0};

    if (step->first)
        store_put(tx->batch, &(struct store_job){r->stored->request, *progress});
    else
        store_put(tx->batch, progress);
    str_add(&reason, r->reason);
    if (step->by)
        str_addf(&reason, "%sby %s", r->reason[0] ? "; " : "", step->by);
    store_put(tx->batch,
              &(struct store_transition){.job = r->id,
                                         .at_s = service_now_s(tx->service),
                                         .to = progress->state,
                                         .what = step->what,
                                         .reason = reason.length ? reason.text : NULL,
                                         .attempt = r->attempt,
                                         .devices = progress->devices});
    add_event(tx, r, status, step);
    vec_push(&tx->jobs, r->id);
    r->dirty = false;
    free_progress(&row);
    str_fini(&reason);
}

const char *tx_end_name(enum job_state state)
{
    return state == JOB_DONE ? "done" : state == JOB_FAILED ? "failed" : "cancelled";
}

void tx_retry(struct service *s)
{
    size_t count;
    struct record *const *all = records_all(s->records, &count);
    struct tx *tx = NULL;

    for (size_t i = 0; i < count; i++) {
        struct record *r = all[i];

        if (!r->dirty || r->phase == PHASE_PENDING)
            continue;
        if (!tx)
            tx = tx_begin(s);
        tx_job(tx, r,
               &(struct tx_step){.what = r->phase == PHASE_ENDED
                                             ? tx_end_name(r->final->state)
                                             : "stored"});
    }
    if (tx)
        tx_commit(tx, NULL, NULL);
}

/* ---- decisions -------------------------------------------------------------------- */

static void add_decision(struct tx *tx, const struct record *r,
                         const struct store_decision *d, const int *devices, int count)
{
    struct json_out *out = tx_event(tx, "decision", r);

    store_put(tx->batch, d);
    json_out_key_int(out, "id", (int64_t)d->id);
    json_out_key_int(out, "job", (int64_t)d->job);
    json_out_key_number(out, "at_s", d->at_s);
    json_out_key_string(out, "kind", d->what);
    json_out_key_string(out, "reason", d->reason);
    json_out_key_number(out, "rate", d->rate);
    json_out_key_number(out, "watts", d->watts);
    json_out_key_number(out, "joules", d->joules);
    json_out_key(out, "devices");
    views_places(out, tx->service, devices, count);
}

/* A promise is broken: rows and events of their own besides the decision. */
static void add_guard(struct tx *tx, const struct record *r, const struct decision *d,
                      const char *device)
{
    struct json_out *out = tx_event(tx, "guard", r);

    store_put(tx->batch,
              &(struct store_guard){.job = r->id,
                                    .at_s = d->at_s,
                                    .kind = "rate",
                                    .promised = d->needed,
                                    .measured = d->rate,
                                    .window_s = isfinite(r->promise.below_since_s)
                                                    ? d->at_s - r->promise.below_since_s
                                                    : 0,
                                    .device = device,
                                    .action = d->help,
                                    .reason = d->reason});
    json_out_key_int(out, "job", (int64_t)r->id);
    json_out_key_number(out, "at_s", d->at_s);
    json_out_key_string(out, "broken", "rate");
    json_out_key_number(out, "promised", d->needed);
    json_out_key_number(out, "measured", d->rate);
    json_out_key_string(out, "action", d->help);
    json_out_key_string(out, "reason", d->reason);
    log_warn("promise_broken", LOG_U64("job", r->id), LOG_NUM("needed", d->needed),
             LOG_NUM("measured", d->rate), LOG_STR("action", d->help));
    metric_add(tx->service->figures->guard, 1, METRIC_LABELS(d->help));
}

static void put_decision(struct tx *tx, const struct record *r, const struct decision *d,
                         const char *what, bool guard)
{
    struct service *s = tx->service;
    struct str devices = {0}, others = {0};
    struct json_out out;
    struct store_decision row = {.id = store_take_id(s->store, STORE_DECISION_ID),
                                 .job = d->job,
                                 .at_s = d->at_s,
                                 .round = s->rounds,
                                 .what = what,
                                 .rate = d->rate,
                                 .watts = d->watts,
                                 .joules = d->joules,
                                 .reason = d->reason};

    add_devices(s, d->devices, d->device_count, &devices);
    if (d->alternative_count > 0) {
        json_out_init(&out, &others, false);
        ledger_alternatives_json(&out, loop_cluster(s->loop), d);
    }
    row.devices = devices.text;
    row.alternatives = others.text;
    if (guard)
        add_guard(tx, r, d, devices.text);
    add_decision(tx, r, &row, d->devices, d->device_count);
    str_fini(&devices);
    str_fini(&others);
}

void tx_decision(struct tx *tx, const struct record *r, const struct decision *d)
{
    put_decision(tx, r, d, d->kind, d->help != NULL);
}

void tx_advice(struct tx *tx, const struct record *r, const struct decision *d)
{
    char what[32];

    snprintf(what, sizeof(what), TX_ADVISE "%s", d->kind);
    put_decision(tx, r, d, what, false);
}

void tx_scaled(struct tx *tx, const struct record *service, const char *reason)
{
    struct service *s = tx->service;

    add_decision(
        tx, service,
        &(struct store_decision){.id = store_take_id(s->store, STORE_DECISION_ID),
                                 .job = service->id,
                                 .at_s = service_now_s(s),
                                 .round = s->rounds,
                                 .what = "scale",
                                 .rate = NAN,
                                 .watts = NAN,
                                 .joules = NAN,
                                 .reason = reason},
        NULL, 0);
}

/* ---- the ledger of a clock that is moved by hand ---------------------------------- */

void tx_ledger_quote(struct service *s, const struct quote *quote)
{
    struct tx *tx;

    if (!service_clock_stepped(s))
        return;
    tx = tx_begin(s);
    begin_event(tx, "ledger", NULL);
    ledger_quote(&tx->data, service_now_s(s), loop_cluster(s->loop), quote);
    tx_commit(tx, NULL, NULL);
}

void tx_ledger_round(struct service *s, const struct round_result *result)
{
    struct tx *tx;

    if (!service_clock_stepped(s))
        return;
    tx = tx_begin(s);
    begin_event(tx, "ledger", NULL);
    ledger_round(&tx->data, service_now_s(s), loop_cluster(s->loop), result);
    tx_commit(tx, NULL, NULL);
}
