/* replicas.c - see replicas.h */
#include "service/replicas.h"

#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "loop/core/serve.h"
#include "service/decisions.h"
#include "service/lifecycle.h"
#include "service/rounds.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Demand may grow by this much before the next replica is there. */
#define HEADROOM 1.25
/* Fewer are wanted for this long before one goes: what falls often rises again. */
#define SHRINK_S 300.0
/* Nobody has asked for this long: no replica, where that is allowed. */
#define ZERO_S 600.0
/* After a replica was added for latency, measurements need time to show it. */
#define LATENCY_GAP_S 120.0
/* A replica that fails is replaced after this long, doubled with each failure in a row.
 */
#define FAILED_S      30.0
#define FAILED_MOST_S 3600.0

#define ZERO_CODE     "scaled_to_zero"

/* ---- what is stored ---------------------------------------------------------------- */

void replicas_extra(struct str *out, const struct replicas_extra *x)
{
    struct json_out json;

    json_out_init(&json, out, false);
    json_out_begin_object(&json);
    json_out_key_bool(&json, "scale_to_zero", x->scale_to_zero);
    json_out_key_int(&json, "max_replicas", x->max);
    json_out_key_int(&json, "shares", x->shares);
    if (x->of) {
        json_out_key_int(&json, "replica_of", (int64_t)x->of);
        json_out_key_int(&json, "replica", x->number);
    }
    json_out_end(&json);
}

static int whole(const struct json_value *root, const char *key, int otherwise)
{
    double n = otherwise;

    json_value_number(json_value_get(root, key), &n);
    return n >= 0 && n <= 1e6 ? (int)n : otherwise;
}

void replicas_know(struct record *r)
{
    const char *extra = r->stored->request.extra;
    const struct json_value *root;
    struct json_doc *doc;
    double of = 0;

    r->max_replicas = r->shares = 1;
    if (!extra || json_doc_parse(&doc, extra, strlen(extra), "extra", NULL) < 0)
        return;
    root = json_doc_root(doc);
    json_value_bool(json_value_get(root, "scale_to_zero"), &r->scale_to_zero);
    r->max_replicas = whole(root, "max_replicas", 1);
    r->shares = whole(root, "shares", 1) > 0 ? whole(root, "shares", 1) : 1;
    json_value_number(json_value_get(root, "replica_of"), &of);
    r->replica_of = of > 0 ? (uint64_t)of : 0;
    r->replica = whole(root, "replica", 1);
    json_doc_destroy(doc);
}

struct job replicas_share(const struct record *r)
{
    struct job job = *record_job(r);

    if (job.kind == JOB_INFERENCE && job.need.kind == NEED_SERVICE)
        job.need.rate /= r->shares;
    return job;
}

bool replicas_at_zero(const struct record *r)
{
    return r->held && strcmp(r->reason_code, ZERO_CODE) == 0;
}

/* ---- who belongs together ---------------------------------------------------------- */

static bool is_service(const struct record *r)
{
    return record_job(r)->kind == JOB_INFERENCE && r->replica_of == 0 &&
           (r->max_replicas > 1 || r->scale_to_zero) && r->phase > PHASE_PENDING &&
           r->phase < PHASE_ENDED;
}

/* The other replicas of a service that have not ended, pending ones included. */
static int others_of(const struct service *s, const struct record *service,
                     struct record **others, int most)
{
    size_t count;
    struct record *const *all = records_all(s->records, &count);
    int found = 0;

    for (size_t i = 0; i < count && found < most; i++)
        if (all[i]->replica_of == service->id && all[i]->phase < PHASE_ENDED)
            others[found++] = all[i];
    return found;
}

int replicas_running(const struct service *s, const struct record *service)
{
    struct record *others[LOOP_MAX_GANG];
    int count =
        service->max_replicas > 1 ? others_of(s, service, others, LOOP_MAX_GANG) : 0;
    int running = record_has_devices(service);

    for (int i = 0; i < count; i++)
        running += record_has_devices(others[i]);
    return running;
}

double replicas_demand(const struct service *s, const struct record *service)
{
    struct record *others[LOOP_MAX_GANG];
    int count =
        service->max_replicas > 1 ? others_of(s, service, others, LOOP_MAX_GANG) : 0;
    double sum = service->demand;

    for (int i = 0; i < count; i++)
        if (isfinite(others[i]->demand) && record_has_devices(others[i]))
            sum = (isfinite(sum) ? sum : 0) + others[i]->demand;
    return sum;
}

/* ---- more -------------------------------------------------------------------------- */

struct joining {
    struct service *service;
    uint64_t job;
};

static void joined(void *ctx, const struct err *err)
{
    struct joining *j = ctx;
    struct record *r = records_get(j->service->records, j->job);

    if (r && err->code == ERR_NONE)
        lifecycle_enter(j->service, r);
    else if (r)
        records_drop(j->service->records, r);
    free(j);
}

/* The environment of the service and who it is in it; the caller frees the array, the
 * two texts are his. */
static const char **environment(const struct record *service, char *of, char *number)
{
    const char *const *old = service->stored->request.env;
    const char **env;
    size_t count = 0;

    while (old && old[count])
        count++;
    env = mem_array(const char *, count + 3);
    for (size_t i = 0; i < count; i++)
        env[i] = old[i];
    env[count] = of;
    env[count + 1] = number;
    return env;
}

static void describe(const struct service *s, const struct record *service, int number,
                     const char *const *env, const char *extra, struct store_job *job)
{
    *job = *service->stored;
    job->request.job.id = store_take_id(s->store, STORE_JOB_ID);
    job->request.job.submitted_s = service_now_s(s);
    job->request.key = NULL;
    job->request.env = env;
    job->request.extra = extra;
    job->request.output = NULL; /* two must not write to one file */
    snprintf(job->request.job.name, sizeof(job->request.job.name), "%.66s/%d",
             record_job(service)->name, number);
    job->progress = (struct store_progress){
        .exit_status = -1, .started_s = NAN, .placed_s = NAN, .ended_s = NAN};
}

static void store_replica(struct service *s, struct record *r,
                          const struct record *service, const char *reason)
{
    struct joining *j = mem_new(struct joining);
    struct tx *tx = tx_begin(s);
    struct str devices = {0}, extra = {0};
    struct store_progress progress;

    *j = (struct joining){s, r->id};
    tx_progress(s, r, NULL, &progress, &devices, &extra);
    store_put_job(tx_batch(tx), &r->stored->request, &progress);
    tx_job(tx, r, &(struct tx_step){.what = "submitted", .first = true});
    decisions_note(s, tx, service, "scale", NULL, reason);
    str_fini(&devices);
    str_fini(&extra);
    tx_commit(tx, joined, j);
}

static void add_replica(struct service *s, const struct record *service, int number,
                        const char *reason)
{
    char of[48], which[32];
    const char **env = environment(service, of, which);
    struct str extra = {0};
    struct store_job job;
    struct record *r;

    snprintf(of, sizeof(of), "CORGI_SERVICE=%llu", (unsigned long long)service->id);
    snprintf(which, sizeof(which), "CORGI_REPLICA=%d", number);
    replicas_extra(&extra, &(struct replicas_extra){.max = 1,
                                                    .shares = service->shares,
                                                    .of = service->id,
                                                    .number = number});
    describe(s, service, number, env, str_text(&extra), &job);
    r = records_add(s->records, &job);
    r->stored->request.job.types_allowed = record_job(service)->types_allowed;
    replicas_know(r);
    r->promised_rate = service->promised_rate;
    r->confidence = service->confidence;
    store_replica(s, r, service, reason);
    log_info("replica_added", LOG_U64("service", service->id), LOG_U64("job", r->id),
             LOG_I64("replica", number), LOG_STR("reason", reason));
    free(env);
    str_fini(&extra);
}

/* The lowest number that is free. */
static int next_number(struct record *const *others, int count)
{
    for (int number = 2;; number++) {
        bool taken = false;

        for (int i = 0; i < count; i++)
            taken = taken || others[i]->replica == number;
        if (!taken)
            return number;
    }
}

/* ---- fewer ------------------------------------------------------------------------- */

static void drop_replicas(struct service *s, const struct record *service,
                          struct record **others, int count, int keep, const char *reason)
{
    struct tx *tx = tx_begin(s);

    for (; count > keep; count--) {
        int last = 0;

        for (int i = 1; i < count; i++)
            if (others[i]->replica > others[last]->replica)
                last = i;
        lifecycle_end(s, tx, others[last], JOB_CANCELLED,
                      &(struct why){.code = "policy", .text = reason});
        others[last] = others[count - 1];
    }
    decisions_note(s, tx, service, "scale", NULL, reason);
    tx_commit(tx, NULL, NULL);
}

static void go_to_zero(struct service *s, struct record *service, struct record **others,
                       int count)
{
    struct tx *tx;

    if (count > 0)
        drop_replicas(s, service, others, count, 0, "nobody asks for anything any more");
    if (!record_has_devices(service))
        return;
    tx = tx_begin(s);
    records_set_held(s->records, service, true);
    service->demand = NAN;
    lifecycle_requeue(
        s, tx, service,
        &(struct why){.code = ZERO_CODE,
                      .text = "nobody asks: no replica until requests come"});
    loop_hold(s->loop, service->id, true, NULL);
    decisions_note(s, tx, service, "scale", NULL, service->reason);
    tx_commit(tx, NULL, NULL);
}

void replicas_wake(struct service *s, struct record *service)
{
    struct tx *tx;

    if (!replicas_at_zero(service))
        return;
    tx = tx_begin(s);
    records_set_held(s->records, service, false);
    service->scaling = (struct scaling){.less_since_s = NAN, .idle_since_s = NAN};
    loop_hold(s->loop, service->id, false, NULL);
    lifecycle_explain(service, "", "requests come: a replica is started");
    tx_job(tx, service, &(struct tx_step){.what = "released", .from = JOB_WAITING});
    decisions_note(s, tx, service, "scale", NULL, service->reason);
    tx_commit(tx, NULL, NULL);
    rounds_poke(s);
}

void replicas_end(struct service *s, struct tx *tx, const struct record *service,
                  enum job_state state)
{
    struct record *others[LOOP_MAX_GANG];
    int count =
        service->max_replicas > 1 ? others_of(s, service, others, LOOP_MAX_GANG) : 0;

    (void)state;
    for (int i = 0; i < count; i++)
        if (others[i]->phase != PHASE_PENDING)
            lifecycle_end(s, tx, others[i], JOB_CANCELLED,
                          &(struct why){.code = "policy",
                                        .text = "the service it belongs to has ended"});
}

/* ---- how many ---------------------------------------------------------------------- */

/* What one replica carries: its share, or less where it was measured to do less. */
static double carried_by_one(const struct record *service, struct record *const *others,
                             int count)
{
    struct job job = replicas_share(service);
    double sum = 0;
    int measured = 0;

    for (int i = -1; i < count; i++) {
        const struct record *r = i < 0 ? service : others[i];

        if (!record_has_devices(r) || !isfinite(r->rate))
            continue;
        sum += fmin(job.need.rate, serve_useful(&job, r->rate));
        measured++;
    }
    return measured > 0 && sum > 0 ? sum / measured : job.need.rate;
}

static bool is_late(const struct record *service, struct record *const *others, int count)
{
    double limit = record_job(service)->need.latency_s;

    for (int i = -1; i < count && limit > 0; i++) {
        const struct record *r = i < 0 ? service : others[i];

        if (record_has_devices(r) && r->latency_s > limit)
            return true;
    }
    return false;
}

static int wanted(struct service *s, struct record *service, struct record *const *others,
                  int count, double demand)
{
    struct scaling *x = &service->scaling;
    double one = carried_by_one(service, others, count), now_s = service_now_s(s);
    double most = service->max_replicas;
    double n = one > 0 ? ceil(HEADROOM * demand / one - 1e-9) : 1;

    if (is_late(service, others, count)) {
        n = fmax(n, now_s - x->late_s >= LATENCY_GAP_S ? count + 2 : count + 1);
        x->late_s = now_s - x->late_s >= LATENCY_GAP_S ? now_s : x->late_s;
    }
    return (int)fmax(1, fmin(n, most));
}

/* One that has just failed is not replaced at once, for the next may fail too. */
static bool may_add(const struct service *s, const struct record *service)
{
    const struct scaling *x = &service->scaling;

    return x->failures == 0 || service_now_s(s) - x->failed_s >=
                                   fmin(FAILED_MOST_S, FAILED_S * exp2(x->failures - 1));
}

static void grow(struct service *s, struct record *service, struct record **others,
                 int count, int want, double demand)
{
    char reason[160];

    if (!may_add(s, service))
        return;
    snprintf(reason, sizeof(reason), "%.4g requests/s are asked for: %d replicas", demand,
             want);
    for (; count + 1 < want && count < LOOP_MAX_GANG; count++) {
        int number = next_number(others, count);

        add_replica(s, service, number, reason);
        others_of(s, service, others, LOOP_MAX_GANG);
    }
}

/* True when it has lasted long enough; *since_s is NaN while it does not hold. */
static bool lasts(bool holds, double *since_s, double now_s, double least_s)
{
    if (!holds)
        *since_s = NAN;
    else if (!isfinite(*since_s))
        *since_s = now_s;
    return holds && now_s - *since_s >= least_s;
}

/* Requests are spread over other replicas than before: what was measured of each until
 * then must not be added up. */
static bool is_settled(struct service *s, struct record *service,
                       struct record *const *others, int count)
{
    struct scaling *x = &service->scaling;
    int running = replicas_running(s, service);
    bool settled;

    if (running != x->running) {
        x->running = running;
        x->running_since_s = service_now_s(s);
    }
    settled = service->demand_at_s > x->running_since_s;
    for (int i = 0; i < count; i++)
        settled = settled && !(isfinite(others[i]->demand) &&
                               others[i]->demand_at_s <= x->running_since_s);
    return settled;
}

static void follow(struct service *s, struct record *service)
{
    struct record *others[LOOP_MAX_GANG];
    int count = others_of(s, service, others, LOOP_MAX_GANG), want;
    double demand = replicas_demand(s, service), now_s = service_now_s(s);
    struct scaling *x = &service->scaling;
    char reason[160];

    if (!is_settled(s, service, others, count) || !isfinite(demand) ||
        !record_has_devices(service))
        return;
    if (lasts(!(demand > 0) && service->scale_to_zero, &x->idle_since_s, now_s, ZERO_S)) {
        go_to_zero(s, service, others, count);
        return;
    }
    want = wanted(s, service, others, count, demand);
    if (want > count + 1)
        grow(s, service, others, count, want, demand);
    if (!lasts(want < count + 1, &x->less_since_s, now_s, SHRINK_S))
        return;
    x->less_since_s = NAN;
    snprintf(reason, sizeof(reason), "%.4g requests/s are asked for: %d %s enough",
             demand, want, want > 1 ? "replicas are" : "replica is");
    drop_replicas(s, service, others, count, want - 1, reason);
}

void replicas_measured(struct service *s, struct record *r)
{
    if (is_service(r) || r->replica_of)
        s->services_moved = true;
}

void replicas_tick(struct service *s)
{
    size_t count;
    struct record *const *all;
    vec_of(uint64_t) services = {0};

    if (!s->services_moved || s->failing || s->draining)
        return;
    s->services_moved = false;
    all = records_all(s->records, &count);
    for (size_t i = 0; i < count; i++)
        if (is_service(all[i]))
            vec_push(&services, all[i]->id);
    vec_each (uint64_t, id, &services) { /* the list changes below */
        struct record *service = records_get(s->records, *id);

        if (service && is_service(service))
            follow(s, service);
    }
    vec_free(&services);
}
