/* handle_jobs.c - looking at jobs, and cancel, hold, release, requeue */
#include "service/handlers.h"

#include "base/mem.h"
#include "service/job_parse.h"
#include "service/lifecycle.h"
#include "service/rounds.h"
#include "service/views.h"
#include "store/telemetry.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Rows of the store a list looks through for one page, when filters pass few. */
#define SCAN_MAX 20000

/* ---- lists
 * --------------------------------------------------------------------------------- */

enum { STATE_HELD = JOB_CANCELLED + 1, STATE_COUNT };
#define ACTIVE_STATES (1u << JOB_WAITING | 1u << JOB_RUNNING | 1u << STATE_HELD)
#define ALL_STATES    ((1u << STATE_COUNT) - 1)

struct listing {
    struct service *s;
    const struct auth_identity *who;
    unsigned states;
    const char *user, *name, *type, *node;
    int kind; /* -1: any */
    double from_s, to_s;
    int limit, order;
    uint64_t after;
    struct json_out *out;
    int count;
    int scanned;
    uint64_t last; /* id of the last that was looked at */
    bool more;
};

static bool parse_states(const char *text, unsigned *states)
{
    static const char *const names[] = {"waiting", "running",   "done",
                                        "failed",  "cancelled", "held"};

    *states = text ? 0 : ALL_STATES;
    while (text && *text) {
        size_t length = strcspn(text, ",");
        bool known = length == 6 && strncmp(text, "active", 6) == 0;

        if (known)
            *states |= ACTIVE_STATES;
        for (int i = 0; i < STATE_COUNT && !known; i++)
            if (strlen(names[i]) == length && strncmp(names[i], text, length) == 0) {
                *states |= 1u << i;
                known = true;
            }
        if (!known)
            return false;
        text += length + (text[length] == ',');
    }
    return *states != 0;
}

static unsigned state_bit(enum job_state state, bool held)
{
    return state == JOB_WAITING && held ? 1u << STATE_HELD : 1u << state;
}

static bool asked_for(const struct listing *l, const struct store_request *q)
{
    return (!l->user || strcmp(l->user, q->user) == 0) &&
           (!l->name || strcmp(l->name, q->job.name) == 0) &&
           (l->kind < 0 || (int)q->job.kind == l->kind) &&
           q->job.submitted_s >= l->from_s && q->job.submitted_s <= l->to_s &&
           service_may_see(l->who, q->user);
}

static bool sits_there(const struct listing *l, const struct record *r)
{
    const struct cluster *c = loop_cluster(l->s->loop);
    const struct job_status *status = loop_job(l->s->loop, r->id);

    if (!l->type && !l->node)
        return true;
    for (int i = 0; status && i < status->device_count; i++) {
        const struct device *d = &c->devices[status->devices[i]];

        if ((!l->type || gpu_named(&c->types[d->type], l->type)) &&
            (!l->node || strcmp(c->nodes[d->node].name, l->node) == 0))
            return true;
    }
    return false;
}

static bool record_fits(const struct listing *l, const struct record *r)
{
    const struct job_status *status = r->final ? r->final : loop_job(l->s->loop, r->id);

    return r->phase != PHASE_PENDING &&
           l->states & state_bit(status ? status->state : JOB_WAITING, r->held) &&
           asked_for(l, &r->stored->request) && sits_there(l, r);
}

static int by_queue(const void *a, const void *b)
{
    const struct record *x = *(struct record *const *)a, *y = *(struct record *const *)b;

    if (record_has_devices(x) != record_has_devices(y))
        return record_has_devices(x) ? -1 : 1;
    if (record_job(x)->priority != record_job(y)->priority)
        return record_job(x)->priority > record_job(y)->priority ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

static int newest_first(const void *a, const void *b)
{
    const struct record *x = *(struct record *const *)a, *y = *(struct record *const *)b;

    return (x->id < y->id) - (x->id > y->id);
}

/* Active jobs are all in memory. */
static int list_active(struct listing *l)
{
    size_t count, n = 0, at = 0;
    struct record *const *all = records_all(l->s->records, &count);
    struct record **found = mem_array(struct record *, count + 1);

    for (size_t i = 0; i < count; i++)
        if (record_fits(l, all[i]))
            found[n++] = all[i];
    if (l->order != 1)
        qsort(found, n, sizeof(*found), l->order == 0 ? newest_first : by_queue);
    if (l->after) {
        while (at < n && found[at]->id != l->after)
            at++;
        at = at < n ? at + 1 : 0;
    }
    for (; at < n && l->count < l->limit; at++, l->count++) {
        views_record(l->out, l->s, found[at], (struct views_how){.who = l->who});
        l->last = found[at]->id;
    }
    l->more = at < n;
    free(found);
    return (int)n;
}

static int list_row(void *ctx, const struct store_job *job)
{
    struct listing *l = ctx;
    const struct record *r = records_get(l->s->records, job->request.job.id);

    if (l->count == l->limit) {
        l->more = true;
        return 1;
    }
    l->scanned++;
    l->last = job->request.job.id;
    if (r) {
        if (record_fits(l, r)) {
            views_record(l->out, l->s, r, (struct views_how){.who = l->who});
            l->count++;
        }
    } else if (l->states & state_bit(job->progress.state, job->progress.held) &&
               asked_for(l, &job->request) && !l->type && !l->node) {
        views_stored(l->out, l->s, job, NULL, (struct views_how){.who = l->who});
        l->count++;
    }
    return 0;
}

/* Newest first, from the store; what is active is shown as it is in memory. */
static int list_stored(struct listing *l, struct err *err)
{
    struct store_job_filter filter = {.user = l->user,
                                      .name = l->name,
                                      .submitted_from_s = l->from_s,
                                      .submitted_to_s = isfinite(l->to_s) ? l->to_s : 0,
                                      .before_id = l->after,
                                      .limit = l->limit + 1};

    for (;;) {
        int before = l->scanned;

        if (store_read_jobs(l->s->reader, &filter, list_row, l, err) < 0)
            return -1;
        if (l->more || l->scanned - before < filter.limit)
            return 0;
        if (l->scanned >= SCAN_MAX) {
            l->more = true;
            return 0;
        }
        filter.before_id = l->last;
    }
}

static bool parse_listing(struct request *r, struct listing *l)
{
    static const char *const kinds[] = {"training", "inference", NULL};
    static const char *const orders[] = {"newest", "oldest", "queue", NULL};

    l->kind = -1;
    l->to_s = INFINITY;
    l->user = request_query(r, "user");
    l->name = request_query(r, "name");
    l->type = request_query(r, "type");
    l->node = request_query(r, "node");
    if (!parse_states(request_query(r, "state"), &l->states)) {
        request_answer_error(r, 400, "invalid", "state",
                             "state takes waiting, held, running, done, failed, "
                             "cancelled and active, with commas between");
        return false;
    }
    if (!handlers_choice(r, "kind", kinds, &l->kind) ||
        !handlers_choice(r, "order", orders, &l->order) ||
        !handlers_number(r, "from_s", 0, API_MAX_TIME_S, &l->from_s) ||
        !handlers_number(r, "to_s", 0, API_MAX_TIME_S, &l->to_s) ||
        !handlers_limit(r, &l->limit) || !handlers_after(r, &l->after))
        return false;
    if (l->order > 0 && l->states & ~ACTIVE_STATES) {
        request_answer_error(r, 400, "invalid", "order",
                             "this order needs state=active, or a part of it");
        return false;
    }
    /* A user has only his own to see: let the store look for nothing else. */
    if (l->who->role == AUTH_USER && !l->user)
        l->user = l->who->name;
    return true;
}

void handle_list_jobs(void *ctx, struct request *r)
{
    struct service *s = ctx;
    struct str text = {0};
    struct json_out out;
    struct err err = {0};
    struct listing l = {.s = s, .who = request_identity(r), .out = &out};
    int total = -1;
    char next[24];

    if (!parse_listing(r, &l))
        return;
    json_out_init(&out, &text, false);
    json_out_begin_object(&out);
    json_out_key(&out, "jobs");
    json_out_begin_array(&out);
    if (!(l.states & ~ACTIVE_STATES)) {
        total = list_active(&l);
    } else if (list_stored(&l, &err) < 0) {
        str_fini(&text);
        request_fail(r, NULL, &err);
        return;
    }
    json_out_end(&out);
    snprintf(next, sizeof(next), "%llu", (unsigned long long)l.last);
    json_out_key_string(&out, "next", l.more ? next : NULL);
    if (total >= 0)
        json_out_key_int(&out, "total", total);
    json_out_end(&out);
    request_answer(r, 200, &text);
}

/* ---- one job
 * --------------------------------------------------------------------------------- */

static int keep_quote(void *ctx, const struct store_quote *quote)
{
    char **text = ctx;

    free(*text);
    *text = quote->detail ? mem_strdup(quote->detail) : NULL;
    return 0;
}

static void show_stored(struct service *s, struct request *r, uint64_t id)
{
    struct store_job *job;
    struct str text = {0};
    struct json_out out;
    struct err err = {0};
    char *quote = NULL;

    if (store_read_job(s->reader, id, &job, &err) < 0) {
        request_fail(r, NULL, &err);
        return;
    }
    if (!service_may_see(request_identity(r), job->request.user)) {
        request_answer_error(r, 403, "forbidden", NULL, "job %llu is another user's",
                             (unsigned long long)id);
    } else {
        store_read_quotes(s->reader, id, keep_quote, &quote, NULL);
        json_out_init(&out, &text, false);
        views_stored(&out, s, job, quote,
                     (struct views_how){.whole = true, .who = request_identity(r)});
        request_answer(r, 200, &text);
        free(quote);
    }
    store_job_destroy(job);
}

static void record_text(const struct service *s, const struct request *r,
                        const struct record *record, struct str *text)
{
    struct json_out out;

    json_out_init(&out, text, false);
    views_record(&out, s, record,
                 (struct views_how){.whole = true, .who = request_identity(r)});
}

/* The job may be looked at; its id is filled.  Else the request was answered. */
static bool may_look(struct service *s, struct request *r, uint64_t *id)
{
    const struct record *record;
    struct store_job *job;
    struct err err = {0};
    bool allowed;

    if (request_param_id(r, "id", id) < 0)
        return false;
    record = records_get(s->records, *id);
    if (record && record->phase != PHASE_PENDING) {
        allowed = service_may_see(request_identity(r), record_user(record));
    } else {
        if (store_read_job(s->reader, *id, &job, &err) < 0) {
            request_fail(r, NULL, &err);
            return false;
        }
        allowed = service_may_see(request_identity(r), job->request.user);
        store_job_destroy(job);
    }
    if (!allowed)
        request_answer_error(r, 403, "forbidden", NULL, "job %llu is another user's",
                             (unsigned long long)*id);
    return allowed;
}

void handle_show_job(void *ctx, struct request *r)
{
    struct service *s = ctx;
    const struct record *record;
    struct str text = {0};
    uint64_t id;

    if (request_param_id(r, "id", &id) < 0)
        return;
    record = records_get(s->records, id);
    if (!record || record->phase == PHASE_PENDING) {
        show_stored(s, r, id);
        return;
    }
    if (!service_may_see(request_identity(r), record_user(record))) {
        request_answer_error(r, 403, "forbidden", NULL, "job %llu is another user's",
                             (unsigned long long)id);
        return;
    }
    record_text(s, r, record, &text);
    request_answer(r, 200, &text);
}

/* ---- changes
 * ----------------------------------------------------------------------------------- */

static void finish(struct service *s, struct request *r, struct tx *tx,
                   const struct record *record)
{
    struct str text = {0};

    record_text(s, r, record, &text);
    handlers_commit(tx, r, 200, &text);
    rounds_poke(s);
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
                                .by = request_identity(r)->name});
    finish(s, r, tx, record);
}

static void set_held(struct service *s, struct request *r, struct record *record,
                     bool held)
{
    const char *reason = handlers_reason(r);
    struct tx *tx = tx_begin(s);

    record->held = held;
    record->over_quota = false;
    loop_hold(s->loop, record->id, held, NULL);
    if (held)
        lifecycle_explain(record, "held", "%s", reason ? reason : "held");
    else
        lifecycle_explain(record, "", "%s", reason ? reason : "");
    tx_job(tx, record,
           &(struct tx_step){.what = held ? "held" : "released",
                             .from = JOB_WAITING,
                             .by = request_identity(r)->name});
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
static void revive(struct service *s, struct request *r, uint64_t id)
{
    struct store_job *job;
    struct record *record;
    struct job_status status;
    struct err err = {0};
    struct tx *tx;

    if (store_read_job(s->reader, id, &job, &err) < 0) {
        request_fail(r, NULL, &err);
        return;
    }
    if (!service_may_touch(request_identity(r), job->request.user)) {
        request_answer_error(r, 403, "forbidden", NULL, "job %llu is another user's",
                             (unsigned long long)id);
        goto done;
    }
    if (job->progress.state == JOB_DONE) {
        request_answer_error(r, 409, "exists", NULL, "job %llu is done; submit it again",
                             (unsigned long long)id);
        goto done;
    }
    job->request.job.types_allowed = job_parse_types(s, job->request.types);
    status = (struct job_status){.job = job->request.job,
                                 .state = JOB_WAITING,
                                 .required_rate = job->request.job.need.rate,
                                 .started_s = job->progress.started_s,
                                 .placed_s = job->progress.placed_s,
                                 .steps_done = job->progress.steps_done,
                                 .moves = job->progress.moves,
                                 .restarts = job->progress.restarts};
    if (loop_restore(s->loop, &status, &err) < 0) {
        request_fail(r, NULL, &err);
        goto done;
    }
    record = records_add(s->records, job);
    record->stored->request.job.types_allowed = job->request.job.types_allowed;
    record->phase = PHASE_WAITING;
    record->attempt = job->progress.attempt;
    record->steps_before = job->progress.steps_done;
    store_read_quotes(s->reader, id, keep_quote, &record->quote_json, NULL);
    lifecycle_explain(record, "", "%s", handlers_reason(r) ? handlers_reason(r) : "");
    tx = tx_begin(s);
    tx_job(tx, record,
           &(struct tx_step){.what = "requeued",
                             .from = job->progress.state,
                             .by = request_identity(r)->name});
    finish(s, r, tx, record);
done:
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
        revive(s, r, id);
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
                                    .by = request_identity(r)->name});
    finish(s, r, tx, record);
}

/* ---- history and measurements
 * --------------------------------------------------------------- */

struct history {
    struct json_out *out;
    uint64_t skip, at;
    int limit, count;
    bool more;
};

static int history_row(void *ctx, const struct store_transition *t)
{
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
                        t->first ? NULL : views_job_state(t->from, false));
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
    struct str text = {0};
    struct json_out out;
    struct history h = {.out = &out};
    struct err err = {0};
    char next[24];
    uint64_t id;

    if (!handlers_limit(r, &h.limit) || !handlers_after(r, &h.skip) ||
        !may_look(s, r, &id))
        return;
    json_out_init(&out, &text, false);
    json_out_begin_object(&out);
    json_out_key(&out, "events");
    json_out_begin_array(&out);
    if (store_read_transitions(s->reader, id, history_row, &h, &err) < 0) {
        str_fini(&text);
        request_fail(r, NULL, &err);
        return;
    }
    json_out_end(&out);
    snprintf(next, sizeof(next), "%llu",
             (unsigned long long)(h.skip + (uint64_t)h.count));
    json_out_key_string(&out, "next", h.more ? next : NULL);
    json_out_end(&out);
    request_answer(r, 200, &text);
}

struct points {
    struct json_out *out;
    double step_s, bucket_s; /* bucket: NaN before the first */
    double rate_sum, watts_sum;
    int rates, powers;
    char source_text[24];
};

static void point(struct points *p, double at_s, double rate, double watts,
                  const char *source)
{
    json_out_begin_object(p->out);
    json_out_key_number(p->out, "at_s", at_s);
    views_number(p->out, "rate", rate);
    views_number(p->out, "watts", watts);
    json_out_key_string(p->out, "source", source);
    json_out_end(p->out);
}

static void flush_bucket(struct points *p)
{
    if (p->rates + p->powers > 0)
        point(p, p->bucket_s + p->step_s, p->rates ? p->rate_sum / p->rates : NAN,
              p->powers ? p->watts_sum / p->powers : NAN, p->source_text);
    p->rates = p->powers = 0;
    p->rate_sum = p->watts_sum = 0;
}

static int point_row(void *ctx, const struct store_measurement *m)
{
    struct points *p = ctx;
    double bucket_s;

    if (!(p->step_s > 0)) {
        point(p, m->at_s, m->rate, m->watts, m->source);
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
    str_copy(p->source_text, sizeof(p->source_text), m->source ? m->source : "");
    return 0;
}

void handle_job_measurements(void *ctx, struct request *r)
{
    struct service *s = ctx;
    struct str text = {0};
    struct json_out out;
    struct points p = {.out = &out, .bucket_s = NAN};
    double from_s = 0, to_s = 0;
    struct err err = {0};
    uint64_t id;
    int limit;

    if (!handlers_number(r, "from_s", 0, API_MAX_TIME_S, &from_s) ||
        !handlers_number(r, "to_s", 0, API_MAX_TIME_S, &to_s) ||
        !handlers_number(r, "step_s", 1, 1e9, &p.step_s) || !handlers_limit(r, &limit) ||
        !may_look(s, r, &id))
        return;
    json_out_init(&out, &text, false);
    json_out_begin_object(&out);
    json_out_key(&out, "points");
    json_out_begin_array(&out);
    if (store_read_measurements(s->reader, id, from_s, to_s, p.step_s > 0 ? 10000 : limit,
                                point_row, &p, &err) < 0) {
        str_fini(&text);
        request_fail(r, NULL, &err);
        return;
    }
    flush_bucket(&p);
    json_out_end(&out);
    json_out_end(&out);
    request_answer(r, 200, &text);
}
