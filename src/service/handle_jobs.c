/* handle_jobs.c - looking at jobs, and cancel, hold, release, requeue */
#include "service/handlers.h"

#include "base/mem.h"
#include "service/lifecycle.h"
#include "service/quotas.h"
#include "service/views.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- one job ---------------------------------------------------------------------- */

static void show_stored(struct service *s, struct request *r, uint64_t id)
{
    struct handlers_answer a;
    struct store_job *job;
    struct err err = {0};
    char *quote;

    if (store_read_job(s->reader, id, &job, &err) < 0) {
        request_fail(r, NULL, &err);
        return;
    }
    if (!service_may_see(&r->identity, job->request.user)) {
        handlers_forbid(r, id);
    } else {
        quote = handlers_quote(s, id);
        handlers_value(&a, r);
        views_stored(&a.out, s, job, quote,
                     (struct views_how){.whole = true, .who = &r->identity});
        handlers_answer(&a, 200);
        free(quote);
    }
    store_job_destroy(job);
}

static void write_record(struct handlers_answer *a, const struct service *s,
                         struct request *r, const struct record *record)
{
    handlers_value(a, r);
    views_record(&a->out, s, record,
                 (struct views_how){.whole = true, .who = &r->identity});
}

void handle_show_job(void *ctx, struct request *r)
{
    struct service *s = ctx;
    const struct record *record;
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

/* ---- changes ---------------------------------------------------------------------- */

static void finish(struct service *s, struct request *r, struct tx *tx,
                   const struct record *record)
{
    struct handlers_answer a;

    write_record(&a, s, r, record);
    handlers_commit(&a, tx, 200);
    service_want_round(s);
}

void handle_cancel_job(void *ctx, struct request *r)
{
    struct service *s = ctx;
    struct record *record = handlers_record(s, r);
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
           &(struct tx_step){.what = held ? "held" : "released",
                             .from = JOB_WAITING,
                             .by = r->identity.name});
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
    struct user_quota_ask quota = quotas_ask(s, job->request.user);
    const char *reason = handlers_reason(r);
    struct record *record;
    struct job_status status;
    struct err err = {0};
    struct tx *tx;

    if (user_quota_admit(&quota, &err) < 0) {
        request_fail(r, NULL, &err);
        return;
    }
    record = restart_record(s, job);
    restart_read_more(s, record);
    record->steps_before = job->progress.steps_done;
    status = restart_status(record, &job->progress);
    status.required_rate = status.job.need.rate;
    if (loop_restore(s->loop, &status, &err) < 0) {
        records_drop(s->records, record);
        request_fail(r, NULL, &err);
        return;
    }
    record_explain(record, "", "%s", reason ? reason : "");
    tx = tx_begin(s);
    tx_job(tx, record,
           &(struct tx_step){
               .what = "requeued", .from = job->progress.state, .by = r->identity.name});
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

    if (!handlers_writable(s, r) || request_param_id(r, "id", &id) < 0)
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
