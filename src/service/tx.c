/* tx.c - see tx.h */
#include "service/tx.h"

#include "base/log.h"
#include "base/mem.h"
#include "service/views.h"
#include "store/store_events.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct telling {
    uint64_t id;
    char type[16];
    char *data;
    uint64_t job;
    uid_t owner;
};

struct tx {
    struct service *service;
    struct store_batch *batch;
    vec_of(struct telling) tellings;
    vec_of(uint64_t) jobs; /* that count as stored, or as dirty, in the end */
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

void tx_event(struct tx *tx, const char *type, const struct record *record,
              struct str *data)
{
    struct telling t = {.id = store_take_id(tx->service->store, STORE_EVENT_ID),
                        .job = record ? record->id : 0,
                        .owner = record ? record->stored->request.uid : SSE_EVERYBODY};
    struct store_event event = {.id = t.id,
                                .at_s = service_now_s(tx->service),
                                .kind = type,
                                .job = t.job,
                                .user = record ? record_user(record) : NULL};

    str_copy(t.type, sizeof(t.type), type);
    t.data = str_take(data);
    event.data = t.data;
    store_add_event(tx->batch, &event);
    vec_push(&tx->tellings, t);
}

static void free_tx(struct tx *tx)
{
    vec_each (struct telling, t, &tx->tellings)
        free(t->data);
    vec_free(&tx->tellings);
    vec_free(&tx->jobs);
    free(tx);
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

static void finish(struct tx *tx, const struct err *err)
{
    struct service *s = tx->service;
    bool stored = err->code == ERR_NONE;

    if (!stored)
        log_error("store_refused", LOG_ERR(err));
    s->failing = err->code == ERR_SYSTEM || (s->failing && !stored);
    for (size_t i = 0; i < tx->tellings.count && stored; i++)
        tell(s, &tx->tellings.items[i]);
    if (tx->done)
        tx->done(tx->ctx, err);
    vec_each (uint64_t, id, &tx->jobs) {
        struct record *record = records_get(s->records, *id);

        if (record && !stored)
            record->dirty = true;
        else if (record && record->phase == PHASE_ENDED && record->leaving_attempt > 0)
            record->gone = true;
        else if (record && record->phase == PHASE_ENDED && !record->dirty)
            records_drop(s->records, record);
    }
    free_tx(tx);
}

static void committed(void *ctx, const struct store_completion *completion)
{
    ((struct tx *)ctx)->service->unstored--;
    finish(ctx, &completion->err);
}

void tx_commit(struct tx *tx, tx_done *done, void *ctx)
{
    struct err err = {0};

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

void tx_tell(struct service *s, const char *type, const struct record *record,
             struct str *data)
{
    struct telling t = {.job = record ? record->id : 0,
                        .owner = record ? record->stored->request.uid : SSE_EVERYBODY};

    str_copy(t.type, sizeof(t.type), type);
    t.data = str_take(data);
    tell(s, &t);
    free(t.data);
}

/* ---- completions from the writer thread ----------------------------------------------
 */

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

/* ---- a step in a job's life -----------------------------------------------------------
 */

static void add_devices(const struct service *s, const struct job_status *status,
                        struct str *out)
{
    for (int i = 0; status && i < status->device_count; i++)
        str_addf(out, "%s%s", i ? "," : "", s->devices[status->devices[i]].name);
}

static void add_extra(const struct record *r, struct str *out)
{
    struct json_out json;

    json_out_init(&json, out, false);
    json_out_begin_object(&json);
    json_out_key_number(&json, "steps_before", r->steps_before);
    json_out_key_number(&json, "promised_rate", r->promised_rate);
    json_out_key_number(&json, "confidence", r->confidence);
    json_out_key_string(&json, "reason_code", r->reason_code);
    json_out_key_int(&json, "memory_failures", r->tries.memory_failures);
    json_out_key_number(&json, "joules", r->joules);
    json_out_key_number(&json, "joules_error", r->joules_error);
    json_out_key_number(&json, "saved_joules", r->saved_joules);
    json_out_end(&json);
}

void tx_progress(const struct service *s, const struct record *r,
                 const struct job_status *status, struct store_progress *p,
                 struct str *devices, struct str *extra)
{
    add_devices(s, status, devices);
    add_extra(r, extra);
    *p = (struct store_progress){
        .state = status ? status->state : JOB_WAITING,
        .held = r->held,
        .attempt = r->attempt,
        .started_s = status ? status->started_s : NAN,
        .placed_s = status ? status->placed_s : NAN,
        .ended_s = r->ended_s,
        .steps_done = status ? status->steps_done : 0,
        .required_rate = status ? status->required_rate : record_job(r)->need.rate,
        .moves = status ? status->moves : 0,
        .restarts = status ? status->restarts : 0,
        .exit_status = r->exit_status,
        .signal = r->signal,
        .devices = devices->length ? devices->text : NULL,
        .reason = r->reason[0] ? r->reason : NULL,
        .extra = extra->text,
    };
}

static void add_event(struct tx *tx, struct record *r, const struct job_status *status,
                      const struct tx_step *step)
{
    struct str data = {0};
    struct json_out json;

    json_out_init(&json, &data, false);
    json_out_begin_object(&json);
    json_out_key_int(&json, "id", (int64_t)r->id);
    json_out_key_string(&json, "name", record_job(r)->name);
    json_out_key_string(&json, "user", record_user(r));
    json_out_key_string(&json, "what", step->what);
    json_out_key_string(&json, "state", views_state_name(status, r->held));
    json_out_key_string(&json, "reason", r->reason[0] ? r->reason : NULL);
    json_out_key_string(&json, "by", step->by);
    json_out_key_int(&json, "attempt", r->attempt);
    json_out_key_number(&json, "at_s", service_now_s(tx->service));
    json_out_key(&json, "devices");
    views_places(&json, tx->service, status);
    json_out_end(&json);
    tx_event(tx, "job", r, &data);
}

void tx_job_was(struct tx *tx, struct record *r, const struct job_status *status,
                const struct tx_step *step)
{
    struct str devices = {0}, extra = {0}, reason = {0};
    struct store_progress progress;

    tx_progress(tx->service, r, status, &progress, &devices, &extra);
    if (!step->first)
        store_update_progress(tx->batch, r->id, &progress);
    if (step->by)
        str_addf(&reason, "%s%sby %s", r->reason, r->reason[0] ? "; " : "", step->by);
    else
        str_add(&reason, r->reason);
    store_add_transition(tx->batch, &(struct store_transition){
                                        .job = r->id,
                                        .at_s = service_now_s(tx->service),
                                        .first = step->first,
                                        .from = step->from,
                                        .to = status ? status->state : JOB_WAITING,
                                        .what = step->what,
                                        .reason = reason.length ? reason.text : NULL,
                                        .attempt = r->attempt,
                                        .devices = progress.devices});
    add_event(tx, r, status, step);
    vec_push(&tx->jobs, r->id);
    r->dirty = false;
    str_fini(&devices);
    str_fini(&extra);
    str_fini(&reason);
}

void tx_job(struct tx *tx, struct record *r, const struct tx_step *step)
{
    tx_job_was(tx, r, r->final ? r->final : loop_job(tx->service->loop, r->id), step);
}
