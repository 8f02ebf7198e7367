/* handle_submit.c - submissions and quotes: a request becomes a contract, or is told why
 * not */
#include "service/handlers.h"

#include "base/mem.h"
#include "service/ledger.h"
#include "service/daemon_metrics.h"
#include "service/job_parse.h"
#include "service/lifecycle.h"
#include "service/quotas.h"
#include "service/user_shares.h"
#include "service/views.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEY_HEADER "Idempotency-Key"
#define KEY_MAX    64

/* What could be promised of the job.  False: answered with what is wrong with it; path is
 * where in the body it stands. */
static bool make_quote(struct service *s, struct request *r, const char *path,
                       const struct parsed_job *p, const struct user_quota_ask *quota,
                       struct quote *q)
{
    struct err err = {0};

    if (loop_quote(s->loop, &p->job.request.job, p->replicas.max, quota, service_now_s(s),
                   q, &err) == 0)
        return true;
    request_fail(r, path, &err);
    return false;
}

/* ---- answers ---------------------------------------------------------------------- */

static void write_submission(struct handlers_answer *a, struct service *s,
                             struct request *r, const struct record *record)
{
    handlers_begin(a, r, NULL);
    json_out_key(&a->out, "job");
    views_record(&a->out, s, record, (struct views_how){.who = &r->identity});
    views_raw(&a->out, "quote", record->quote_json ? record->quote_json : "{}");
}

static void answer_submission(struct service *s, struct request *r, int status,
                              struct record *record)
{
    struct handlers_answer a;

    handlers_recall_quote(s, record);
    write_submission(&a, s, r, record);
    handlers_answer(&a, status);
}

static void answer_stored(struct service *s, struct request *r,
                          const struct store_job *job)
{
    struct handlers_answer a;
    char *quote = handlers_quote(s, job->request.job.id, true);

    handlers_begin(&a, r, NULL);
    json_out_key(&a.out, "job");
    views_stored(&a.out, s, job, NULL, (struct views_how){.who = &r->identity});
    views_raw(&a.out, "quote", quote ? quote : "{}");
    free(quote);
    handlers_answer(&a, 200);
}

static void answer_refusal(struct service *s, struct request *r, const struct quote *q)
{
    struct handlers_answer a;

    handlers_begin(&a, r, NULL);
    json_out_key_object(&a.out, "error");
    json_out_key_string(&a.out, "code", "infeasible");
    json_out_key_string(&a.out, "message", q->reason);
    if (q->verdict == QUOTE_COUNTER)
        json_out_key_string(&a.out, "field", "need.rate");
    json_out_key(&a.out, "quote");
    ledger_quote_json(&a.out, loop_cluster(s->loop), q);
    daemon_metrics_submission(s, ledger_verdict_name(q->verdict), r->began_s);
    handlers_answer(&a, 422);
}

/* ---- the same key again ----------------------------------------------------------- */

static void answer_other_body(struct request *r)
{
    request_answer_error(r, 409, "exists", KEY_HEADER,
                         "this idempotency key was used for another request");
}

/* True when the request is taken care of; else its digest is there. */
static bool used_before(struct service *s, struct request *r, const char *key,
                        unsigned char *digest)
{
    const char *user = r->identity.name;
    struct record *record = records_keyed(s->records, user, key);
    struct store_job *job;

    job_parse_digest(r->body, digest);
    if (record) {
        if (memcmp(record->stored->request.digest, digest, STORE_DIGEST_BYTES) != 0)
            answer_other_body(r);
        else if (record->phase == PHASE_PENDING)
            vec_push(&record->waiters, r);
        else {
            answer_submission(s, r, 200, record);
            handlers_drop_quote(record);
        }
        return true;
    }
    if (store_find_job(s->reader, user, key, &job, NULL) < 0)
        return false;
    if (memcmp(job->request.digest, digest, STORE_DIGEST_BYTES) != 0)
        answer_other_body(r);
    else
        answer_stored(s, r, job);
    store_job_destroy(job);
    return true;
}

/* ---- submitting ------------------------------------------------------------------- */

struct submission {
    struct service *service;
    uint64_t job;
    const char *verdict;
    struct quote quote;
    double asked_s;
};

static void answer_waiters(struct service *s, struct record *record, const char *verdict,
                           const struct err *err)
{
    for (size_t i = 0; i < record->waiters.count; i++) {
        struct request *r = record->waiters.items[i];

        if (err->code != ERR_NONE) {
            daemon_metrics_submission(s, "not_stored", r->began_s);
            request_answer_error(r, err->code == ERR_EXISTS ? 409 : 503,
                                 err_code_name(err->code), NULL,
                                 "the job was not taken: %s", err->text);
            continue;
        }
        daemon_metrics_submission(s, verdict, r->began_s);
        answer_submission(s, r, i == 0 ? 201 : 200, record);
    }
    vec_clear(&record->waiters);
}

static void stored(void *ctx, const struct err *err)
{
    struct submission *sub = ctx;
    struct service *s = sub->service;
    struct record *record = records_get(s->records, sub->job);

    if (err->code == ERR_NONE) {
        lifecycle_enter(s, record);
        loop_quoted(s->loop, sub->job, &sub->quote, sub->asked_s);
    }
    answer_waiters(s, record, sub->verdict, err);
    handlers_drop_quote(record);
    if (err->code != ERR_NONE)
        records_drop(s->records, record);
    free(sub);
}

/* A counter-offer taken is the requirement from now on. */
static void lower_need(struct parsed_job *p, struct quote *q)
{
    struct job *job = &p->job.request.job;

    job->need.rate = q->promised_rate;
    if (job->need.kind == NEED_DEADLINE)
        job->need = (struct requirement){.confidence = job->need.confidence};
    q->verdict = QUOTE_ACCEPTED;
}

/* The record has a copy of what was parsed. */
static void take(struct service *s, struct request *r, struct parsed_job *p,
                 const struct quote *q)
{
    struct submission *sub = mem_new(struct submission);
    struct tx *tx = tx_begin(s);
    struct record *record;

    p->job.request.job.id = store_take_id(s->store, STORE_JOB_ID);
    job_parse_know_class(s->classes, &p->job.request.job);
    record = records_add(s->records, &p->job, &p->replicas);
    records_set_held(s->records, record, p->job.progress.held);
    records_set_there(s->records, record, &p->there);
    lifecycle_promise(s, record, q);
    if (record->held)
        record_explain(record, "held", "held from the start");
    vec_push(&record->waiters, r);
    *sub = (struct submission){.service = s,
                               .job = record->id,
                               .verdict = ledger_verdict_name(q->verdict),
                               .quote = *q,
                               .asked_s = service_now_s(s)};
    tx_job(tx, record, &(struct tx_step){.what = "submitted", .first = true});
    lifecycle_put_quote(s, tx, record, q);
    job_parse_fini(p);
    tx_commit(tx, stored, sub);
}

static bool key_of(struct request *r, const char **key)
{
    *key = head_field(&r->head, KEY_HEADER);
    if (!*key || (strlen(*key) >= 1 && strlen(*key) <= KEY_MAX))
        return true;
    request_answer_error(r, 400, "invalid", KEY_HEADER,
                         "an idempotency key has 1 to %d characters", KEY_MAX);
    return false;
}

static struct job_parse_context parse_context(const struct service *s,
                                              const struct auth_identity *who)
{
    const struct service_limit_config *limits = &s->config.limits;
    bool real = s->config.engine != SERVICE_ENGINE_SIM;

    return (struct job_parse_context){
        .cluster = loop_cluster(s->loop),
        .classes = s->classes,
        .classes_max = limits->classes,
        .command_needed = real,
        .account_needed = real,
        .priority_max = who->role == AUTH_OPERATOR ? API_MAX_PRIORITY : limits->priority,
        .stop_grace_max_s = limits->stop_grace_s,
        .gangs_alone = s->controls,
        .partitions = s->controls ? &s->config.slurm.partitions : NULL,
        .now_s = service_now_s(s)};
}

void handle_submit_job(void *ctx, struct request *r)
{
    struct service *s = ctx;
    const struct auth_identity *who = &r->identity;
    struct job_parse_context context = parse_context(s, &r->identity);
    struct parsed_job parsed = {0};
    char field[SCHEMA_PATH_SIZE];
    struct user_quota_ask quota;
    unsigned char digest[STORE_DIGEST_BYTES];
    struct quote q;
    struct err err = {0};
    const char *key;

    if (!handlers_may_act(s, r) || !key_of(r, &key))
        return;
    if (key && used_before(s, r, key, digest))
        return;
    if (job_parse(&context, who, r->body, &parsed, field, &err) < 0) {
        request_fail(r, field[0] ? field : NULL, &err);
        goto done;
    }
    parsed.job.request.job.account = user_shares_account(s, who->name, &parsed.there);
    quota = quotas_ask(s, who->name, &parsed.there);
    if (!make_quote(s, r, NULL, &parsed, &quota, &q))
        goto done;
    tx_ledger_quote(s, &q);
    parsed.replicas.shares = q.replicas;
    if (q.verdict == QUOTE_REFUSED ||
        (q.verdict == QUOTE_COUNTER && !parsed.accept_counter)) {
        answer_refusal(s, r, &q);
        goto done;
    }
    if (q.verdict == QUOTE_COUNTER)
        lower_need(&parsed, &q);
    parsed.job.request.key = key;
    if (key)
        memcpy(parsed.job.request.digest, digest, sizeof(digest));
    take(s, r, &parsed, &q);
done:
    job_parse_fini(&parsed);
}

/* ---- changing what a job needs ---------------------------------------------------- */

static void apply_update(struct service *s, struct record *record, struct parsed_job *p)
{
    struct job job;

    records_set_request(record, &p->job.request, &p->replicas);
    record->stored->request.job.types_allowed = p->job.request.job.types_allowed;
    job = record_share(record);
    loop_change(s->loop, &job, service_now_s(s), NULL);
}

void handle_update_job(void *ctx, struct request *r)
{
    struct service *s = ctx;
    struct record *record = handlers_record(s, r);
    struct job_parse_context context = parse_context(s, &r->identity);
    struct parsed_job parsed = {0};
    char field[SCHEMA_PATH_SIZE];
    struct handlers_answer a;
    struct err err = {0};
    struct quote q;
    struct tx *tx;

    if (!record)
        return;
    parsed.job.request = record->stored->request;
    if (job_parse_change(&context, r->body, &parsed, field, &err) < 0) {
        request_fail(r, field[0] ? field : NULL, &err);
        goto done;
    }
    parsed.replicas = record->replicas;
    if (!make_quote(s, r, NULL, &parsed, NULL, &q))
        goto done;
    parsed.replicas.shares = q.replicas;
    if (q.verdict == QUOTE_REFUSED || q.verdict == QUOTE_COUNTER) {
        answer_refusal(s, r, &q);
        goto done;
    }
    lifecycle_promise(s, record, &q);
    apply_update(s, record, &parsed);
    loop_quoted(s->loop, record->id, &q, service_now_s(s));
    tx = tx_begin(s);
    store_put(tx_batch(tx), &record->stored->request);
    tx_job(tx, record, &(struct tx_step){.what = "updated", .by = r->identity.name});
    lifecycle_put_quote(s, tx, record, &q);
    write_submission(&a, s, r, record);
    handlers_commit(&a, tx, 200);
    service_want_round(s);
done:
    job_parse_fini(&parsed);
}

/* ---- quotes ----------------------------------------------------------------------- */

static int add_what_if(struct service *s, struct request *r,
                       const struct json_value *change, size_t index,
                       const struct parsed_job *base, struct json_out *out)
{
    struct job_parse_context context = parse_context(s, &r->identity);
    struct parsed_job changed = {.job = base->job, .replicas = base->replicas};
    char field[SCHEMA_PATH_SIZE], path[SCHEMA_PATH_SIZE + 48];
    struct err err = {0};
    struct quote q;
    int rc = -1, failed;

    failed = job_parse_change(&context, change, &changed, field, &err);
    snprintf(path, sizeof(path), "what_if[%zu]%s%s", index, field[0] ? "." : "", field);
    if (failed)
        request_fail(r, path, &err);
    if (failed || !make_quote(s, r, path, &changed, NULL, &q))
        goto done;
    json_out_begin_object(out);
    json_out_key(out, "change");
    json_value_write(change, out);
    json_out_key(out, "quote");
    ledger_quote_json(out, loop_cluster(s->loop), &q);
    json_out_end(out);
    rc = 0;
done:
    job_parse_fini(&changed);
    return rc;
}

void handle_quote(void *ctx, struct request *r)
{
    struct service *s = ctx;
    const struct json_value *body = r->body;
    const struct json_value *changes = json_value_get(body, "what_if");
    struct job_parse_context context = parse_context(s, &r->identity);
    struct parsed_job parsed = {0};
    char field[SCHEMA_PATH_SIZE], path[SCHEMA_PATH_SIZE + 16];
    struct handlers_answer a = {0};
    struct err err = {0};
    struct quote q;

    if (!request_spend(r, (double)json_value_count(changes))) /* each is a quote too */
        return;
    if (job_parse(&context, &r->identity, json_value_get(body, "job"), &parsed, field,
                  &err) < 0) {
        snprintf(path, sizeof(path), "job%s%s", field[0] ? "." : "", field);
        request_fail(r, path, &err);
        goto done;
    }
    parsed.job.request.job.account =
        user_shares_account(s, r->identity.name, &parsed.there);
    if (!make_quote(s, r, "job", &parsed, NULL, &q))
        goto done;
    handlers_begin(&a, r, NULL);
    json_out_key(&a.out, "quote");
    ledger_quote_json(&a.out, loop_cluster(s->loop), &q);
    json_out_key_array(&a.out, "what_if");
    for (size_t i = 0; i < json_value_count(changes); i++)
        if (add_what_if(s, r, json_value_item(changes, i), i, &parsed, &a.out) < 0)
            goto done;
    handlers_answer(&a, 200);
done:
    str_fini(&a.text);
    job_parse_fini(&parsed);
}
