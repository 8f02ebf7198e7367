/* handle_learning.c - estimates and decisions */
#include "service/handlers.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/parse.h"
#include "loop/estimate/predict.h"
#include "loop/requirement.h"
#include "model/prediction_cache.h"
#include "service/ledger.h"
#include "service/tx.h"
#include "service/views.h"
#include "store/rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- estimates -------------------------------------------------------------------- */

/* A large matrix takes long: it is made in slices, and others are answered in between. */
#define SLICE_S 0.003

struct cell_ask {
    uint64_t job, beside; /* beside 0: alone */
    int type;
};

struct matrix {
    struct service *s;
    struct auth_identity who;
    vec_of(struct cell_ask) asks;
    size_t at;
    bool truncated;
    struct handlers_answer answer;
    struct model reader; /* with a cache of its own: what is believed now, not kept */
};

static void write_cell(struct matrix *m, const struct cell_ask *ask)
{
    struct service *s = m->s;
    const struct job_status *status = loop_job(s->loop, ask->job);
    const struct job_status *other = ask->beside ? loop_job(s->loop, ask->beside) : NULL;
    struct combination where = {.type = ask->type, .count = 1};
    struct json_out *out = &m->answer.out;
    struct prediction p;
    double confidence;

    if (!status || (ask->beside && !other))
        return; /* it has ended since */
    where.members[0] = (struct member){
        .job = &status->job, .nodes = 1, .demand = requirement_demand(status)};
    if (other)
        where.members[where.count++] = (struct member){
            .job = &other->job, .nodes = 1, .demand = requirement_demand(other)};
    predict(&m->reader, &where, &p);
    confidence = requirement_confidence(loop_settings(s->loop), &status->job);
    json_out_begin_object(out);
    json_out_key_int(out, "job", (int64_t)ask->job);
    json_out_key_string(out, "name", status->job.name);
    json_out_key_string(out, "type", loop_cluster(s->loop)->types[ask->type].name);
    json_out_key_array(out, "beside");
    if (other)
        views_neighbour(out, s, ask->beside, &m->who);
    json_out_end(out);
    json_out_key(out, "rate");
    ledger_estimate_json(out, &p.rate[0]);
    json_out_key(out, "watts");
    ledger_estimate_json(out, &p.watts);
    json_out_key_number(out, "fits", p.fits);
    json_out_key_bool(out, "meets",
                      estimate_at_confidence(&p.rate[0], confidence) >=
                          requirement_rate_now(status, service_now_s(s)));
    json_out_end(out);
}

static void slice(void *ctx)
{
    struct matrix *m = ctx;
    double began_s = clock_wall_s();

    while (m->at < m->asks.count) {
        write_cell(m, &m->asks.items[m->at++]);
        if (clock_wall_s() - began_s > SLICE_S && m->at < m->asks.count &&
            !m->s->draining) {
            reactor_post(m->s->reactor, slice, m);
            return;
        }
    }
    json_out_end(&m->answer.out);
    json_out_key_bool(&m->answer.out, "truncated", m->truncated);
    handlers_answer(&m->answer, 200);
    vec_free(&m->asks);
    prediction_cache_destroy(m->reader.cache);
    free(m);
}

/* True: there is room for more. */
static bool ask_for(struct matrix *m, int limit, uint64_t job, int type, uint64_t beside)
{
    if (m->asks.count == (size_t)limit) {
        m->truncated = true;
        return false;
    }
    vec_push(&m->asks, (struct cell_ask){.job = job, .type = type, .beside = beside});
    return true;
}

struct wanted {
    uint64_t job;
    int type; /* -1: all */
    bool alone, pairs;
    uint64_t beside; /* 0: all */
    int limit;
};

static bool ask_pairs(struct matrix *m, const struct wanted *w, const struct record *r,
                      int type, struct record *const *all, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct record *other = all[i];

        if (other == r || !record_job(other)->may_share ||
            other->phase == PHASE_PENDING || other->phase == PHASE_ENDED ||
            (w->beside ? other->id != w->beside : !record_has_devices(other)))
            continue;
        if (!ask_for(m, w->limit, r->id, type, other->id))
            return false;
    }
    return true;
}

static void collect(struct matrix *m, const struct wanted *w)
{
    int types = loop_cluster(m->s->loop)->type_count;
    size_t count;
    struct record *const *all = records_all(m->s->records, &count);

    for (int pass = 0; pass < 2; pass++) /* alone first: pairs are many */
        for (size_t i = 0; i < count; i++) {
            const struct record *r = all[i];

            if ((w->job && r->id != w->job) || r->phase == PHASE_PENDING ||
                r->phase == PHASE_ENDED || !service_may_see(&m->who, record_user(r)))
                continue;
            for (int t = 0; t < types; t++) {
                if (w->type >= 0 && t != w->type)
                    continue;
                if (pass == 0 && w->alone && !ask_for(m, w->limit, r->id, t, 0))
                    return;
                if (pass == 1 && w->pairs && record_job(r)->may_share &&
                    !ask_pairs(m, w, r, t, all, count))
                    return;
            }
        }
}

static bool parse_wanted(struct service *s, struct request *r, struct wanted *w)
{
    const struct cluster *c = loop_cluster(s->loop);
    const char *type = uri_query_get(&r->query, "type"),
               *beside = uri_query_get(&r->query, "beside");
    double job = 0;

    *w = (struct wanted){.type = -1, .alone = true, .pairs = true};
    if (!handlers_limit(r, &w->limit) ||
        !handlers_number(r, "job", 1, 9007199254740991.0, &job))
        return false;
    w->job = (uint64_t)job;
    for (int t = 0; type && t < c->type_count; t++)
        if (gpu_named(&c->types[t], type))
            w->type = t;
    if (type && w->type < 0) {
        request_answer_error(r, 400, "invalid", "type", "the cluster has no type '%s'",
                             type);
        return false;
    }
    if (beside && strcmp(beside, "none") == 0) {
        w->pairs = false;
    } else if (beside && strcmp(beside, "all") != 0) {
        w->alone = false;
        if (!parse_u64(beside, &w->beside) || w->beside == 0) {
            request_answer_error(r, 400, "invalid", "beside",
                                 "beside is none, all, or the number of a job");
            return false;
        }
    }
    return true;
}

void handle_estimates(void *ctx, struct request *r)
{
    struct service *s = ctx;
    struct wanted w;
    struct matrix *m;

    if (!parse_wanted(s, r, &w))
        return;
    m = mem_new(struct matrix);
    m->s = s;
    m->who = r->identity;
    m->reader = *loop_model(s->loop);
    m->reader.cache = prediction_cache_create(PREDICTION_CACHE_ROWS);
    collect(m, &w);
    handlers_begin(&m->answer, r, "cells");
    slice(m);
}

/* ---- decisions -------------------------------------------------------------------- */

struct decisions_list {
    struct service *s;
    const struct auth_identity *who;
    struct json_out *out;
    const char *device, *kind;
    int limit, count, scanned;
    uint64_t last, only; /* only: this decision; 0: any */
    bool more;
};

static bool may_see_job(struct service *s, const struct auth_identity *who, uint64_t id)
{
    const struct record *r = records_get(s->records, id);
    struct store_job *job;
    bool allowed;

    if (who->role != AUTH_USER)
        return true;
    if (r)
        return service_may_see(who, record_user(r));
    if (store_read_job(s->reader, id, &job, NULL) < 0)
        return false;
    allowed = service_may_see(who, job->request.user);
    store_job_destroy(job);
    return allowed;
}

/* Is the job still where this decision put it?  What is measured is of that place. */
static bool put_it_there(struct service *s, const struct record *r,
                         const struct store_decision *d)
{
    const struct job_status *status = loop_job(s->loop, r->id);

    return status && status->device_count > 0 && d->at_s >= status->placed_s &&
           (strcmp(d->what, "start") == 0 || strcmp(d->what, "move") == 0);
}

static void row_json(struct decisions_list *l, const struct store_decision *d)
{
    const struct record *r = records_get(l->s->records, d->job);

    json_out_begin_object(l->out);
    json_out_key_int(l->out, "id", (int64_t)d->id);
    json_out_key_number(l->out, "at_s", d->at_s);
    json_out_key_int(l->out, "round", (int64_t)d->round);
    json_out_key_string(l->out, "kind", d->what);
    json_out_key_int(l->out, "job", (int64_t)d->job);
    json_out_key(l->out, "devices");
    views_places_named(l->out, l->s, d->devices);
    json_out_key_string(l->out, "reason", d->reason ? d->reason : "");
    json_out_key(l->out, "rate");
    if (isfinite(d->rate)) {
        json_out_begin_object(l->out);
        json_out_key_number(l->out, "value", d->rate);
        json_out_key_number(l->out, "low", d->rate);
        json_out_key_number(l->out, "high", d->rate);
        json_out_key_string(l->out, "source", "correlated");
        json_out_end(l->out);
    } else {
        json_out_null(l->out);
    }
    json_out_key_number(l->out, "watts", d->watts);
    json_out_key_number(l->out, "joules", d->joules);
    json_out_key_number(l->out, "measured_rate",
                        r && put_it_there(l->s, r, d) ? r->rate : NAN);
    json_out_key_bool(l->out, "explored", false);
    if (d->alternatives == store_damaged)
        json_out_key_bool(l->out, "damaged", true);
    views_raw(l->out, "alternatives",
              d->alternatives && d->alternatives != store_damaged ? d->alternatives
                                                                  : "[]");
    json_out_end(l->out);
}

/* placed: a start or a move.  What was only advised counts as what it is about. */
static bool is_kind(const char *kind, const char *what)
{
    what += str_starts(what, TX_ADVISE) ? strlen(TX_ADVISE) : 0;
    return strcmp(kind, what) == 0 ||
           (strcmp(kind, "placed") == 0 &&
            (strcmp(what, "start") == 0 || strcmp(what, "move") == 0));
}

static bool names_device(const char *names, const char *device)
{
    size_t length = strlen(device);

    for (const char *at = names; at && (at = strstr(at, device)); at += length)
        if ((at == names || at[-1] == ',') && (at[length] == ',' || !at[length]))
            return true;
    return false;
}

static int decision_row(void *ctx, const void *row)
{
    const struct store_decision *d = row;
    struct decisions_list *l = ctx;

    if (l->count == l->limit) {
        l->more = true;
        return 1;
    }
    l->scanned++;
    l->last = d->id;
    if ((l->only && d->id != l->only) || (l->kind && !is_kind(l->kind, d->what)) ||
        (l->device && !names_device(d->devices, l->device)) ||
        !may_see_job(l->s, l->who, d->job))
        return 0;
    l->count++;
    row_json(l, d);
    return 0;
}

#define LEDGER_SCAN_MAX 5000

static int read_ledger(struct decisions_list *l, struct store_filter *filter,
                       struct err *err)
{
    for (;;) {
        int before = l->scanned;

        if (store_read(l->s->reader, STORE_DECISIONS, filter, decision_row, l, err) < 0)
            return -1;
        if (l->more || l->scanned - before < filter->limit)
            return 0;
        if (l->scanned >= LEDGER_SCAN_MAX) {
            l->more = true;
            return 0;
        }
        filter->before_id = l->last;
    }
}

static bool parse_ledger(struct request *r, struct decisions_list *l,
                         struct store_filter *f, char *device, size_t size)
{
    static const char *const kinds[] = {"start", "move",  "stop",  "cap",    "wake",
                                        "sleep", "guard", "scale", "placed", NULL};
    double job = 0;
    int kind = -1, index;

    if (!handlers_number(r, "job", 1, 9007199254740991.0, &job) ||
        !handlers_number(r, "from_s", 0, API_MAX_TIME_S, &f->from_s) ||
        !handlers_number(r, "to_s", 0, API_MAX_TIME_S, &f->to_s) ||
        !handlers_choice(r, "kind", kinds, &kind) || !handlers_limit(r, &l->limit) ||
        !handlers_after(r, &f->before_id))
        return false;
    f->job = (uint64_t)job;
    f->limit = l->limit + 1;
    l->kind = kind >= 0 ? kinds[kind] : NULL;
    l->device = uri_query_get(&r->query, "device");
    if (l->device && parse_int(l->device, &index) && index >= 0 &&
        index < loop_cluster(l->s->loop)->device_count) {
        str_copy(device, size, l->s->devices[index].name);
        l->device = device;
    }
    return true;
}

void handle_list_decisions(void *ctx, struct request *r)
{
    struct service *s = ctx;
    struct handlers_answer a;
    struct decisions_list l = {.s = s, .who = &r->identity, .out = &a.out};
    struct store_filter filter = {0};
    struct err err = {0};
    char device[LOOP_NAME_SIZE + 16];

    if (!parse_ledger(r, &l, &filter, device, sizeof(device)))
        return;
    handlers_begin(&a, r, "decisions");
    if (read_ledger(&l, &filter, &err) < 0) {
        handlers_fail(&a, &err);
        return;
    }
    handlers_page(&a, l.more, l.last);
    handlers_answer(&a, 200);
}

void handle_show_decision(void *ctx, struct request *r)
{
    struct service *s = ctx;
    struct handlers_answer a;
    struct decisions_list l = {.s = s, .who = &r->identity, .out = &a.out, .limit = 1};
    struct store_filter filter = {.limit = 1};
    struct err err = {0};

    if (request_param_id(r, "decision", &l.only) < 0)
        return;
    filter.before_id = l.only + 1;
    handlers_value(&a, r);
    if (store_read(s->reader, STORE_DECISIONS, &filter, decision_row, &l, &err) < 0)
        request_fail(r, NULL, &err);
    else if (l.count == 0)
        request_answer_error(r, 404, "not_found", NULL, "there is no decision %llu",
                             (unsigned long long)l.only);
    else
        handlers_answer(&a, 200);
    str_fini(&a.text);
}
