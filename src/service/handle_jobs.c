/* handle_jobs.c - one job: looking at it, its history and its measurements, and cancel,
 * hold, release, requeue */
#include "service/handlers.h"

#include "service/lifecycle.h"
#include "service/quotas.h"
#include "service/user_shares.h"
#include "service/views.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- one job ---------------------------------------------------------------------- */

static void show_stored(struct service *s, struct request *r, uint64_t id)
{
    struct handlers_answer a;
    struct store_job *job;
    struct err err = {0};
    char *quote, *first;

    if (store_read_job(s->reader, id, &job, &err) < 0) {
        request_fail(r, NULL, &err);
        return;
    }
    if (!service_may_see(&r->identity, job->request.user)) {
        handlers_forbid(r, id);
    } else {
        quote = handlers_quote(s, id, false);
        first = handlers_quote(s, id, true);
        handlers_value(&a, r);
        views_stored(
            &a.out, s, job, quote,
            (struct views_how){.whole = true, .first_quote = first, .who = &r->identity});
        handlers_answer(&a, 200);
        free(quote);
        free(first);
    }
    store_job_destroy(job);
}

static void write_record(struct handlers_answer *a, struct service *s, struct request *r,
                         struct record *record)
{
    char *first = handlers_quote(s, record->id, true);

    handlers_value(a, r);
    handlers_recall_quote(s, record);
    views_record(
        &a->out, s, record,
        (struct views_how){.whole = true, .first_quote = first, .who = &r->identity});
    handlers_drop_quote(record);
    free(first);
}

void handle_show_job(void *ctx, struct request *r)
{
    struct service *s = ctx;
    struct record *record;
    struct handlers_answer a;
    uint64_t id;

    if (request_param_id(r, "id", &id) < 0)
        return;
    record = records_get(s->records, id);
    if (!record || record->phase == PHASE_PENDING) {
        show_stored(s, r, id);
        return;
    }
    if (!service_may_see(&r->identity, record_user(record))) {
        handlers_forbid(r, id);
        return;
    }
    write_record(&a, s, r, record);
    handlers_answer(&a, 200);
}

/* ---- what became of it, and what was measured ------------------------------------- */

struct history {
    struct json_out *out;
    uint64_t skip, at;
    int limit, count;
    bool more;
};

static int history_row(void *ctx, const void *row)
{
    const struct store_transition *t = row;
    struct history *h = ctx;

    if (h->at++ < h->skip)
        return 0;
    if (h->count == h->limit) {
        h->more = true;
        return 1;
    }
    h->count++;
    json_out_begin_object(h->out);
    json_out_key_int(h->out, "id", (int64_t)h->at);
    json_out_key_number(h->out, "at_s", t->at_s);
    json_out_key_string(h->out, "kind", t->what);
    json_out_key_string(h->out, "from",
                        t->from == STORE_NO_STATE
                            ? NULL
                            : views_job_state((enum job_state)t->from, false));
    json_out_key_string(h->out, "to", views_job_state(t->to, false));
    json_out_key_string(h->out, "text", t->reason);
    json_out_key_int(h->out, "attempt", t->attempt);
    json_out_key_string(h->out, "devices", t->devices);
    json_out_end(h->out);
    return 0;
}

void handle_job_history(void *ctx, struct request *r)
{
    struct service *s = ctx;
    struct handlers_answer a;
    struct history h = {.out = &a.out};
    struct err err = {0};
    uint64_t id;

    if (!handlers_limit(r, &h.limit) || !handlers_after(r, &h.skip) ||
        !handlers_may_look(s, r, &id))
        return;
    handlers_begin(&a, r, "events");
    if (store_read(s->reader, STORE_TRANSITIONS, &(struct store_filter){.job = id},
                   history_row, &h, &err) < 0) {
        handlers_fail(&a, &err);
        return;
    }
    handlers_page(&a, h.more, h.skip + (uint64_t)h.count);
    handlers_answer(&a, 200);
}

struct points {
    struct json_out *out;
    double step_s, bucket_s; /* bucket: NaN before the first */
    double rate_sum, watts_sum, latency_sum;
    int rates, powers, latencies;
    double latency_high_s; /* of the bucket; NaN: none */
    char source_text[24];
};

static void point(struct points *p, const struct store_measurement *m)
{
    json_out_begin_object(p->out);
    json_out_key_number(p->out, "at_s", m->at_s);
    json_out_key_number(p->out, "rate", m->rate);
    json_out_key_number(p->out, "watts", m->watts);
    json_out_key_number(p->out, "latency_s", m->latency_s);
    json_out_key_number(p->out, "latency_high_s", m->latency_high_s);
    json_out_key_string(p->out, "source", m->source);
    json_out_end(p->out);
}

static double mean(double sum, int count)
{
    return count > 0 ? sum / count : NAN;
}

static void flush_bucket(struct points *p)
{
    if (p->rates + p->powers + p->latencies > 0)
        point(p, &(struct store_measurement){
                     .at_s = p->bucket_s + p->step_s,
                     .rate = mean(p->rate_sum, p->rates),
                     .watts = mean(p->watts_sum, p->powers),
                     .latency_s = mean(p->latency_sum, p->latencies),
                     .latency_high_s = p->latency_high_s,
                     .source = p->source_text,
                 });
    p->rates = p->powers = p->latencies = 0;
    p->rate_sum = p->watts_sum = p->latency_sum = 0;
    p->latency_high_s = NAN;
}

static int point_row(void *ctx, const void *row)
{
    const struct store_measurement *m = row;
    struct points *p = ctx;
    double bucket_s;

    if (!(p->step_s > 0)) {
        point(p, m);
        return 0;
    }
    bucket_s = floor(m->at_s / p->step_s) * p->step_s;
    if (bucket_s != p->bucket_s)
        flush_bucket(p);
    p->bucket_s = bucket_s;
    if (isfinite(m->rate)) {
        p->rate_sum += m->rate;
        p->rates++;
    }
    if (isfinite(m->watts)) {
        p->watts_sum += m->watts;
        p->powers++;
    }
    if (isfinite(m->latency_s)) {
        p->latency_sum += m->latency_s;
        p->latencies++;
        p->latency_high_s = fmax(p->latency_high_s, m->latency_high_s);
    }
    str_copy(p->source_text, sizeof(p->source_text), m->source ? m->source : "");
    return 0;
}

void handle_job_measurements(void *ctx, struct request *r)
{
    struct service *s = ctx;
    struct handlers_answer a;
    struct points p = {.out = &a.out, .bucket_s = NAN, .latency_high_s = NAN};
    struct store_filter filter = {0};
    struct err err = {0};

    if (!handlers_number(r, "from_s", 0, API_MAX_TIME_S, &filter.from_s) ||
        !handlers_number(r, "to_s", 0, API_MAX_TIME_S, &filter.to_s) ||
        !handlers_number(r, "step_s", 1, 1e9, &p.step_s) ||
        !handlers_limit(r, &filter.limit) || !handlers_may_look(s, r, &filter.job))
        return;
    handlers_begin(&a, r, "points");
    if (p.step_s > 0)
        filter.limit = 10000;
    if (store_read(s->reader, STORE_MEASUREMENTS, &filter, point_row, &p, &err) < 0) {
        handlers_fail(&a, &err);
        return;
    }
    flush_bucket(&p);
    handlers_answer(&a, 200);
}

/* ---- changes ---------------------------------------------------------------------- */

static void finish(struct service *s, struct request *r, struct tx *tx,
                   struct record *record)
{
    struct handlers_answer a;

    write_record(&a, s, r, record);
    handlers_commit(&a, tx, 200);
    service_want_round(s);
}

void handle_cancel_job(void *ctx, struct request *r)
{
    struct service *s = ctx;
    struct record *record = handlers_record_leaving(s, r);
    bool force = json_member_bool(r->body, "force", false);
    const char *reason;
    struct tx *tx;

    if (!record)
        return;
    reason = handlers_reason(r);
    tx = tx_begin(s);
    lifecycle_end(s, tx, record, JOB_CANCELLED,
                  &(struct why){.code = "cancelled",
                                .text = reason ? reason : "cancelled",
                                .by = r->identity.name});
    if (force)
        lifecycle_kill(s, record);
    finish(s, r, tx, record);
}

static void set_held(struct service *s, struct request *r, struct record *record,
                     bool held)
{
    const char *reason = handlers_reason(r);
    struct tx *tx = tx_begin(s);

    records_set_held(s->records, record, held);
    records_set_over_quota(s->records, record, false);
    loop_hold(s->loop, record->id, held, service_now_s(s), NULL);
    if (held)
        record_explain(record, "held", "%s", reason ? reason : "held");
    else
        record_explain(record, "", "%s", reason ? reason : "");
    tx_job(tx, record,
           &(struct tx_step){.what = held ? "held" : "released", .by = r->identity.name});
    finish(s, r, tx, record);
}

void handle_hold_job(void *ctx, struct request *r)
{
    struct service *s = ctx;
    struct record *record = handlers_record(s, r);

    if (!record)
        return;
    if (record->phase != PHASE_WAITING)
        request_answer_error(r, 409, "exists", NULL,
                             "job %llu runs; requeue it or cancel it",
                             (unsigned long long)record->id);
    else
        set_held(s, r, record, true);
}

void handle_release_job(void *ctx, struct request *r)
{
    struct service *s = ctx;
    struct record *record = handlers_record(s, r);

    if (!record)
        return;
    if (!record->held)
        request_answer_error(r, 409, "exists", NULL, "job %llu is not held",
                             (unsigned long long)record->id);
    else
        set_held(s, r, record, false);
}

/* From the end: a job with the same id lives again, its history goes on. */
static void revive(struct service *s, struct request *r, const struct store_job *job)
{
    struct record was = {.gpu_use = NAN};
    const char *reason = handlers_reason(r);
    struct user_quota_ask quota;
    struct record *record;
    struct job_status status;
    struct err err = {0};
    struct tx *tx;

    record_read_extra(&was, job->progress.extra);
    quota = quotas_ask(s, job->request.user, &was.there);
    if (user_quota_admit(&quota, &err) < 0) {
        request_fail(r, NULL, &err);
        return;
    }
    record = restart_record(s, job);
    restart_read_more(s, record);
    record->steps_before = job->progress.steps_done;
    user_shares_tell(s, record);
    status = restart_status(record, &job->progress);
    status.required_rate = status.job.need.rate;
    if (loop_restore(s->loop, &status, &err) < 0) {
        records_drop(s->records, record);
        request_fail(r, NULL, &err);
        return;
    }
    record_explain(record, "", "%s", reason ? reason : "");
    tx = tx_begin(s);
    tx_job(tx, record, &(struct tx_step){.what = "requeued", .by = r->identity.name});
    finish(s, r, tx, record);
}

static void requeue_stored(struct service *s, struct request *r, uint64_t id)
{
    struct store_job *job;
    struct err err = {0};

    if (store_read_job(s->reader, id, &job, &err) < 0) {
        request_fail(r, NULL, &err);
        return;
    }
    if (!service_may_touch(&r->identity, job->request.user))
        handlers_forbid(r, id);
    else if (job->progress.state == JOB_DONE)
        request_answer_error(r, 409, "exists", NULL, "job %llu is done; submit it again",
                             (unsigned long long)id);
    else
        revive(s, r, job);
    store_job_destroy(job);
}

void handle_requeue_job(void *ctx, struct request *r)
{
    struct service *s = ctx;
    const char *reason = handlers_reason(r);
    struct record *record;
    struct tx *tx;
    uint64_t id;

    if (!handlers_may_act(s, r) || request_param_id(r, "id", &id) < 0)
        return;
    if (!records_get(s->records, id)) {
        requeue_stored(s, r, id);
        return;
    }
    record = handlers_record(s, r);
    if (!record)
        return;
    if (!record_has_devices(record)) {
        request_answer_error(r, 409, "exists", NULL, "job %llu is in the queue already",
                             (unsigned long long)id);
        return;
    }
    tx = tx_begin(s);
    lifecycle_requeue(s, tx, record,
                      &(struct why){.code = "policy",
                                    .text = reason ? reason : "put back into the queue",
                                    .by = r->identity.name});
    finish(s, r, tx, record);
}
