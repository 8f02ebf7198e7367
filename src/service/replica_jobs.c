/* replica_jobs.c - see replica_jobs.h
 *
 * Measurements of demand and latency come from engine_events.c and handle_learning.c,
 * the tick from service.c.  What is decided goes to the store first; lifecycle.c then
 * puts new replicas into the queue and stops those that are too many. */
#include "service/replica_jobs.h"

#include "base/log.h"
#include "base/mem.h"
#include "loop/recent_rate.h"
#include "service/lifecycle.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_service(const struct record *r)
{
    return record_job(r)->kind == JOB_INFERENCE && r->replicas.of == 0 &&
           (r->replicas.max > 1 || r->replicas.scale_to_zero) &&
           r->phase > PHASE_PENDING && r->phase < PHASE_ENDED;
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

/* The environment of the service and the two entries that tell a replica who it is.  The
 * caller frees the array and keeps the two texts. */
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
                     const char *const *env, struct store_job *job)
{
    *job = *service->stored;
    job->request.job.id = store_take_id(s->store, STORE_JOB_ID);
    job->request.job.submitted_s = service_now_s(s);
    job->request.key = NULL;
    job->request.env = env;
    job->request.output = NULL; /* two must not write to one file, */
    if (job->request.metrics_url && !strstr(job->request.metrics_url, ENGINE_REPLICA))
        job->request.metrics_url = NULL; /* nor one's answers be counted for two */
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

    *j = (struct joining){s, r->id};
    tx_job(tx, r, &(struct tx_step){.what = "submitted", .first = true});
    tx_scaled(tx, service, reason);
    tx_commit(tx, joined, j);
}

static void add_replica(struct service *s, const struct record *service, int number,
                        const char *reason)
{
    char of[48], which[32];
    const char **env = environment(service, of, which);
    struct record_replicas replicas = {.max = 1,
                                       .shares = service->replicas.shares,
                                       .of = service->id,
                                       .number = number};
    struct store_job job;
    struct record *r;

    snprintf(of, sizeof(of), "CORGI_SERVICE=%llu", (unsigned long long)service->id);
    snprintf(which, sizeof(which), "CORGI_REPLICA=%d", number);
    describe(s, service, number, env, &job);
    r = records_add(s->records, &job, &replicas);
    r->stored->request.job.types_allowed = record_job(service)->types_allowed;
    records_set_there(s->records, r, &service->there);
    r->promised_rate = service->promised_rate;
    r->confidence = service->confidence;
    store_replica(s, r, service, reason);
    log_info("replica_added", LOG_U64("service", service->id), LOG_U64("job", r->id),
             LOG_I64("replica", number), LOG_STR("reason", reason));
    free(env);
}

static void grow(struct service *s, const struct record *service, int wanted,
                 const char *reason)
{
    struct replica replicas[LOOP_MAX_GANG];
    int count = records_replicas(s->records, service, replicas, NULL);

    for (; count < wanted && count < LOOP_MAX_GANG; count++) {
        int number = replicas_free_number(replicas, count);

        add_replica(s, service, number, reason);
        replicas[count] = (struct replica){.number = number};
    }
}

/* ---- fewer ------------------------------------------------------------------------- */

static void end_beyond(struct service *s, struct tx *tx, const struct record *service,
                       int keep, const char *reason)
{
    struct record *records[LOOP_MAX_GANG];
    struct replica replicas[LOOP_MAX_GANG];
    int count = records_replicas(s->records, service, replicas, records);

    for (; count > keep; count--) {
        int last = replicas_last(replicas, count);

        lifecycle_end(s, tx, records[last], JOB_CANCELLED,
                      &(struct why){.code = "policy", .text = reason});
        records[last] = records[count - 1];
        replicas[last] = replicas[count - 1];
    }
    tx_scaled(tx, service, reason);
}

static void shrink(struct service *s, const struct record *service, int keep,
                   const char *reason)
{
    struct tx *tx = tx_begin(s);

    end_beyond(s, tx, service, keep, reason);
    tx_commit(tx, NULL, NULL);
}

static void go_to_zero(struct service *s, struct record *service, const char *reason)
{
    struct tx *tx = tx_begin(s);

    end_beyond(s, tx, service, 1, reason);
    records_set_held(s->records, service, true);
    service->demand = NAN;
    lifecycle_requeue(s, tx, service,
                      &(struct why){.code = RECORD_AT_ZERO, .text = reason});
    loop_hold(s->loop, service->id, true, service_now_s(s), NULL);
    tx_commit(tx, NULL, NULL);
}

static void wake(struct service *s, struct record *service, const char *reason)
{
    struct tx *tx = tx_begin(s);

    records_set_held(s->records, service, false);
    loop_hold(s->loop, service->id, false, service_now_s(s), NULL);
    record_explain(service, "", "%s", reason);
    tx_job(tx, service, &(struct tx_step){.what = "released"});
    tx_scaled(tx, service, reason);
    tx_commit(tx, NULL, NULL);
    service_want_round(s);
}

/* ---- looking after a service ------------------------------------------------------- */

/* Its replicas, with what the loop has found out that each can do. */
static int find_replicas(const struct service *s, const struct record *service,
                         struct replica *replicas)
{
    struct record *found[LOOP_MAX_GANG];
    int count = records_replicas(s->records, service, replicas, found);

    for (int i = 0; i < count; i++) {
        const struct job_status *status = loop_job(s->loop, found[i]->id);

        if (status)
            replicas[i].rate = recent_rate_capacity(status);
    }
    return count;
}

static void follow(struct service *s, struct record *service, double asked)
{
    struct replica replicas[LOOP_MAX_GANG];
    struct job share = record_share(service);
    struct replicas_facts facts = {.share = &share,
                                   .replicas = replicas,
                                   .count = find_replicas(s, service, replicas),
                                   .max = service->replicas.max,
                                   .scale_to_zero = service->replicas.scale_to_zero,
                                   .at_zero = record_at_zero(service),
                                   .asked = asked,
                                   .now_s = service_now_s(s)};
    struct replicas_decision d = replicas_decide(&service->scaling, &facts);

    if (!d.reason[0])
        return;
    if (facts.at_zero)
        wake(s, service, d.reason);
    else if (d.wanted == 0)
        go_to_zero(s, service, d.reason);
    else if (d.wanted > facts.count)
        grow(s, service, d.wanted, d.reason);
    else
        shrink(s, service, d.wanted, d.reason);
}

void replica_jobs_asked(struct service *s, struct record *service, double asked)
{
    if (record_at_zero(service))
        follow(s, service, asked);
}

void replica_jobs_measured(struct service *s, const struct record *r)
{
    if (is_service(r) || r->replicas.of)
        s->services_moved = true;
}

void replica_jobs_tick(struct service *s)
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
            follow(s, service, NAN);
    }
    vec_free(&services);
}
