/* views.c - see views.h
 *
 * Handlers, events and lists call these with what records, loop and store know; nothing
 * is changed here. */
#include "service/views.h"

#include "base/mem.h"
#include "loop/estimate/predict.h"
#include "loop/cluster.h"
#include "loop/requirement.h"
#include "service/ledger.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void views_raw(struct json_out *out, const char *key, const char *json)
{
    json_out_key(out, key);
    if (json)
        json_out_raw(out, json);
    else
        json_out_null(out);
}

const char *views_job_state(enum job_state state, bool held)
{
    static const char *const names[] = {"waiting", "running", "done", "failed",
                                        "cancelled"};

    return state == JOB_WAITING && held ? "held" : names[state];
}

const char *views_record_state(const struct service *s, const struct record *r)
{
    const struct job_status *status = service_status(s, r);
    int device;

    if (r->leaving_holds)
        return "leaving";
    if ((r->phase == PHASE_COMMITTING || r->phase == PHASE_LAUNCHING) &&
        service_in_the_way(s, status, &device))
        return views_job_state(JOB_WAITING, false);
    return views_job_state(status->state, r->held);
}

/* Why a job stands as it does: a sentence, and its code in the API. */
struct reason {
    const char *text, *code;
};

/* What has to be said first: that nothing starts while the store cannot write, or whose
 * leaving the job waits for; else what was noted last. */
static struct reason reason_now(const struct service *s, const struct record *r,
                                char *text, size_t size)
{
    struct reason noted = {r->reason, r->reason_code};
    const struct device_leaving *other;
    int device;

    if (r->phase == PHASE_WAITING && s->failing && !r->held && !r->over_quota)
        return (struct reason){RECORD_NO_STORE, "policy"};
    if (r->phase != PHASE_COMMITTING && r->phase != PHASE_LAUNCHING)
        return noted;
    other = service_in_the_way(s, service_status(s, r), &device);
    if (!other)
        return noted;
    snprintf(text, size, "waits: %s is being left by job %llu", s->devices[device].name,
             (unsigned long long)other->job);
    return (struct reason){text, r->reason_code};
}

static void place(struct json_out *out, const struct service *s, int device)
{
    const struct cluster *c = loop_cluster(s->loop);

    json_out_begin_object(out);
    json_out_key_int(out, "device", device);
    json_out_key_string(out, "name", s->devices[device].name);
    json_out_key_string(out, "node", c->nodes[c->devices[device].node].name);
    json_out_key_string(out, "type", c->types[c->devices[device].type].name);
    json_out_end(out);
}

void views_places(struct json_out *out, const struct service *s, const int *devices,
                  int count)
{
    json_out_begin_array(out);
    for (int i = 0; i < count; i++)
        place(out, s, devices[i]);
    json_out_end(out);
}

void views_places_named(struct json_out *out, const struct service *s, const char *names)
{
    int devices[LOOP_MAX_GANG], count;

    service_devices_named(s, names, devices, &count);
    views_places(out, s, devices, count);
}

void views_neighbour(struct json_out *out, const struct service *s, uint64_t job,
                     const struct auth_identity *who)
{
    const struct record *r = records_get(s->records, job);

    json_out_begin_object(out);
    json_out_key_int(out, "job", (int64_t)job);
    if (r && who && service_may_see(who, record_user(r))) {
        json_out_key_string(out, "name", record_job(r)->name);
        json_out_key_string(out, "user", record_user(r));
        json_out_key_number(out, "rate", r->rate);
    }
    json_out_end(out);
}

/* ---- jobs ---------------------------------------------------------------------------
 */

static void descriptor(struct json_out *out, const struct job_descriptor *d)
{
    json_out_key_object(out, "descriptor");
    json_out_key_string(out, "family", d->family);
    json_out_key_string(out, "model", model_kind_names[d->model]);
    json_out_key_int(out, "batch", d->batch);
    json_out_key_number(out, "gmac_per_sample", d->gmac_per_sample);
    json_out_key_number(out, "params_millions", d->params_millions);
    json_out_key_number(out, "memory_mb_per_sample", d->memory_mb_per_sample);
    json_out_end(out);
}

static void need(struct json_out *out, const struct requirement *n)
{
    json_out_key_object(out, "need");
    json_out_key_string(out, "kind", requirement_kind_names[n->kind]);
    if (n->rate > 0)
        json_out_key_number(out, "rate", n->rate);
    if (n->latency_s > 0)
        json_out_key_number(out, "latency_s", n->latency_s);
    if (n->kind == NEED_DEADLINE)
        json_out_key_number(out, "deadline_s", n->deadline_s);
    if (n->confidence > 0)
        json_out_key_number(out, "confidence", n->confidence);
    json_out_end(out);
}

static void types(struct json_out *out, const char *names)
{
    char name[GPU_NAME_SIZE * 2];

    json_out_key_array(out, "types");
    while (str_next_word(&names, name, sizeof(name)))
        json_out_string(out, name);
    json_out_end(out);
}

static void asked(struct json_out *out, const struct store_request *q)
{
    const struct job *job = &q->job;

    descriptor(out, &job->descriptor);
    need(out, &job->need);
    json_out_key_number(out, "total_steps", job->total_steps);
    json_out_key_number(out, "duration_s", job->duration_s);
    json_out_key_int(out, "gpus", job->devices);
    json_out_key_number(out, "memory_gb", job->memory_gb);
    json_out_key_number(out, "cpus", job->cpus);
    json_out_key_number(out, "host_memory_gb", job->host_memory_gb);
    json_out_key_int(out, "priority", job->priority);
    types(out, q->types);
    json_out_key_bool(out, "share", job->may_share);
    json_out_key_bool(out, "move", job->may_move);
    json_out_key_number(out, "submitted_s", job->submitted_s);
}

char *views_output_path(const struct service *s, const struct store_request *q,
                        int attempt)
{
    if (attempt == 0 || !s->engine.ops || !s->engine.ops->output)
        return NULL;
    return q->output ? mem_strdup(q->output)
                     : s->engine.ops->output(s->engine.self, q->job.id, attempt);
}

static void environment(struct json_out *out, const struct store_request *q)
{
    json_out_key_object(out, "environment");
    for (const char *const *entry = q->env; entry && *entry; entry++) {
        const char *equals = strchr(*entry, '=');
        char name[256];
        size_t length = equals ? (size_t)(equals - *entry) : 0;

        if (length == 0 || length >= sizeof(name))
            continue;
        memcpy(name, *entry, length);
        name[length] = '\0';
        json_out_key_string(out, name, equals + 1);
    }
    json_out_end(out);
}

/* What was asked to run; operators see it too, but not the environment. */
static void secrets(struct json_out *out, const struct service *s,
                    const struct store_request *q, int attempt,
                    const struct auth_identity *who)
{
    char *output = views_output_path(s, q, attempt);

    json_out_key_array(out, "command");
    for (const char *const *word = q->argv; word && *word; word++)
        json_out_string(out, *word);
    json_out_end(out);
    json_out_key_string(out, "directory", q->directory);
    if (strcmp(who->name, q->user) == 0)
        environment(out, q);
    json_out_key_string(out, "output", output ? output : q->output);
    free(output);
}

static void identity(struct json_out *out, const struct store_request *q,
                     const char *state, struct reason why)
{
    json_out_key_int(out, "id", (int64_t)q->job.id);
    json_out_key_string(out, "name", q->job.name);
    json_out_key_string(out, "user", q->user);
    json_out_key_int(out, "uid", (int64_t)q->uid);
    json_out_key_string(out, "kind",
                        q->job.kind == JOB_INFERENCE ? "inference" : "training");
    json_out_key_string(out, "state", state);
    json_out_key_string(out, "reason", why.text && *why.text ? why.text : NULL);
    json_out_key_string(out, "reason_code", why.code && *why.code ? why.code : NULL);
}

static void ending(struct json_out *out, double ended_s, int exit_status, int sig)
{
    json_out_key_number(out, "ended_s", ended_s);
    json_out_key_number(out, "exit_status", exit_status >= 0 ? exit_status : NAN);
    json_out_key_number(out, "signal", sig > 0 ? sig : NAN);
}

void views_saving(struct json_out *out, bool known, double joules, double error)
{
    json_out_key_number(out, "saved_joules", known ? joules : NAN);
    json_out_key_number(out, "saved_joules_low", known ? joules - error : NAN);
    json_out_key_number(out, "saved_joules_high", known ? joules + error : NAN);
}

static void energy(struct json_out *out, const struct record_energy *e)
{
    json_out_key_number(out, "joules", e->use.joules);
    json_out_key_number(out, "joules_low", fmax(0, e->use.joules - e->use.error_joules));
    json_out_key_number(out, "joules_high", e->use.joules + e->use.error_joules);
    views_saving(out, e->saving.error > 0, e->saving.joules, e->saving.error);
}

static void neighbours(struct json_out *out, const struct service *s,
                       const struct job_status *status, const struct auth_identity *who)
{
    const struct cluster *c = loop_cluster(s->loop);

    json_out_key_array(out, "neighbours");
    for (int i = 0; i < status->device_count; i++) {
        const struct device *d = &c->devices[status->devices[i]];

        for (int k = 0; k < d->job_count; k++)
            if (d->jobs[k] != status->job.id)
                views_neighbour(out, s, d->jobs[k], who);
    }
    json_out_end(out);
}

/* live: the job is here, else it is read from the store. */
static void running(struct json_out *out, const struct service *s, const struct record *r,
                    const struct job_status *status, bool live)
{
    double required =
        live ? requirement_rate_now(status, service_now_s(s)) : status->required_rate;
    bool service = live && record_job(r)->kind == JOB_INFERENCE;
    double ran_s = record_ran_s(r, service_now_s(s));
    struct replica replicas[LOOP_MAX_GANG];
    int count = service ? records_replicas(s->records, r, replicas, NULL) : 0;

    json_out_key_number(out, "required_rate", required);
    json_out_key_number(out, "promised_rate", r->promised_rate);
    json_out_key_number(out, "offered_rate", r->offered_rate);
    json_out_key_string(out, "promise",
                        isfinite(r->promised_rate)   ? "given"
                        : isfinite(r->offered_rate)  ? "offered"
                        : record_share(r).unpromised ? "pending"
                                                     : "none");
    json_out_key_number(out, "short_since_s", live ? r->promise.below_since_s : NAN);
    json_out_key_number(out, "rate", r->rate);
    json_out_key_number(out, "mean_rate",
                        status->steps_done > 0 && ran_s > 0 ? status->steps_done / ran_s
                                                            : NAN);
    json_out_key_number(out, "rate_ratio", required > 0 ? r->rate / required : NAN);
    json_out_key_number(out, "demand_rate",
                        service ? replicas_demand(replicas, count) : NAN);
    json_out_key_number(out, "latency_s", r->latency_s);
    json_out_key_number(out, "steps_done", status->steps_done);
    json_out_key_number(out, "started_s", status->started_s);
    json_out_key_number(out, "placed_s", status->placed_s);
    json_out_key_number(out, "expected_start_s",
                        status->state == JOB_WAITING && isnan(status->started_s)
                            ? r->expected_start_s
                            : NAN);
    json_out_key_number(out, "expected_end_s", r->expected_end_s);
    json_out_key_int(out, "moves", status->moves);
    json_out_key_int(out, "restarts", status->restarts);
    json_out_key_int(out, "attempt", r->attempt);
    json_out_key_number(out, "gpu_use", r->gpu_use);
    json_out_key_number(out, "unused_gpus", r->gpu_use >= 0 ? r->unused_gpus : NAN);
    json_out_key_number(out, "gpu_memory_gb", r->gpu_use >= 0 ? r->gpu_memory_gb : NAN);
    for (int i = 0; i < JOB_GROUPS; i++)
        json_out_key_string(out, job_group_kinds[i],
                            r->there.names[i][0] ? r->there.names[i] : NULL);
    json_out_key_bool(out, "part_of_gpu", r->part);
    json_out_key_string(out, "engine_ref",
                        r->ref[0]       ? r->ref
                        : r->entered[0] ? r->entered
                                        : NULL);
    json_out_key_number(out, "replicas",
                        service ? replicas_running(replicas, count) : NAN);
    json_out_key_number(out, "max_replicas", service ? r->replicas.max : NAN);
    json_out_key_number(out, "replica_of", r->replicas.of ? (double)r->replicas.of : NAN);
}

static void write_job(struct json_out *out, const struct service *s,
                      const struct record *r, const struct job_status *status,
                      struct views_how how, bool live)
{
    const struct store_request *q = &r->stored->request;
    char text[sizeof(r->reason)];

    json_out_begin_object(out);
    json_out_key_bool(out, "simulated", s->config.engine == SERVICE_ENGINE_SIM);
    identity(out, q,
             live ? views_record_state(s, r) : views_job_state(status->state, r->held),
             live ? reason_now(s, r, text, sizeof(text))
                  : (struct reason){r->reason, r->reason_code});
    asked(out, q);
    running(out, s, r, status, live);
    json_out_key(out, "devices");
    views_places(out, s, status->devices, status->device_count);
    json_out_key(out, "leaving");
    views_places(out, s, r->leaving_devices, r->leaving_holds ? r->leaving_count : 0);
    if (live)
        neighbours(out, s, status, how.who);
    json_out_key_number(out, "watts", r->watts);
    energy(out, &r->shown);
    ending(out, r->ended_s, r->exit_status, r->signal);
    if (how.whole) {
        views_raw(out, "quote", r->quote_json);
        views_raw(out, "first_quote", how.first_quote);
        json_out_key_object(out, "measurements_refused");
        record_refused_json(r, out);
        json_out_end(out);
    }
    if (how.whole && live && status->state == JOB_WAITING && loop_job(s->loop, r->id)) {
        struct decision places;

        loop_explain(s->loop, r->id, service_now_s(s), &places);
        json_out_key(out, "places");
        ledger_alternatives_json(out, loop_cluster(s->loop), &places);
    }
    if (how.who && service_may_touch(how.who, q->user))
        secrets(out, s, q, r->attempt, how.who);
    json_out_end(out);
}

void views_record(struct json_out *out, const struct service *s, const struct record *r,
                  struct views_how how)
{
    write_job(out, s, r, service_status(s, r), how, true);
}

void views_stored(struct json_out *out, const struct service *s,
                  const struct store_job *job, char *quote_json, struct views_how how)
{
    const struct store_progress *p = &job->progress;
    struct job_status status = {.job = job->request.job,
                                .state = p->state,
                                .required_rate = p->required_rate,
                                .started_s = p->started_s,
                                .placed_s = p->placed_s,
                                .steps_done = p->steps_done,
                                .moves = p->moves,
                                .restarts = p->restarts};
    struct store_job kept = *job;
    struct record r = {.stored = &kept,
                       .id = job->request.job.id,
                       .phase = PHASE_ENDED,
                       .held = p->held,
                       .attempt = p->attempt,
                       .ended_s = p->ended_s,
                       .exit_status = p->exit_status,
                       .signal = p->signal,
                       .promised_rate = NAN,
                       .offered_rate = NAN,
                       .rate = NAN,
                       .latency_s = NAN,
                       .began_s = NAN,
                       .expected_start_s = NAN,
                       .expected_end_s = NAN,
                       .watts = NAN,
                       .quote_json = quote_json};

    record_read_extra(&r, p->extra);
    str_copy(r.reason, sizeof(r.reason), p->reason ? p->reason : "");
    service_devices_named(s, p->devices, status.devices, &status.device_count);
    write_job(out, s, &r, &status, how, false);
}

/* ---- devices and nodes ---------------------------------------------------------------
 */

const char *views_device_state(const struct cluster *c, int device)
{
    const struct device *d = &c->devices[device];
    enum node_state node = c->nodes[d->node].state;

    if (d->failed || node == NODE_DOWN)
        return "failed";
    if (d->drained || d->taken) /* nothing is started there */
        return "drained";
    if (d->leaving_count > 0)
        return "leaving";
    if (d->job_count > 0)
        return "busy";
    return node == NODE_ASLEEP || node == NODE_FALLING ? "asleep" : "free";
}

void views_device(struct json_out *out, const struct service *s, int device,
                  const struct auth_identity *who)
{
    const struct cluster *c = loop_cluster(s->loop);
    const struct device *d = &c->devices[device];
    const struct device_more *more = &s->devices[device];

    json_out_begin_object(out);
    json_out_key_int(out, "id", device);
    json_out_key_string(out, "name", more->name);
    json_out_key_string(out, "node", c->nodes[d->node].name);
    json_out_key_string(out, "type", c->types[d->type].name);
    json_out_key_string(out, "state", views_device_state(c, device));
    json_out_key_string(out, "reason", more->reason[0] ? more->reason : NULL);
    json_out_key_number(out, "cap_watts", d->cap_watts > 0 ? d->cap_watts : NAN);
    json_out_key_number(out, "watts", more->watts);
    json_out_key_number(out, "tdp_watts", c->types[d->type].tdp_watts);
    json_out_key_bool(out, "modelled", more->modelled);
    json_out_key_number(out, "joules", more->joules);
    json_out_key_number(out, "memory_gb", c->types[d->type].memory_gb);
    json_out_key_array(out, "jobs");
    for (int i = 0; i < d->job_count; i++)
        views_neighbour(out, s, d->jobs[i], who);
    json_out_end(out);
    json_out_key_array(out, "leaving");
    for (const struct device_leaving *l = cluster_leaving(c, device, NULL); l;
         l = cluster_leaving(c, device, l))
        views_neighbour(out, s, l->job, who);
    json_out_end(out);
    json_out_end(out);
}

const char *const views_node_states[] = {"awake", "asleep",         "waking",
                                         "down",  "falling_asleep", NULL};

double views_host_watts(const struct node *node)
{
    if (node->state == NODE_DOWN)
        return 0;
    return node->state == NODE_ASLEEP ? node->sleep_watts : node->host_watts;
}

void views_node(struct json_out *out, const struct service *s, int n,
                const struct auth_identity *who)
{
    const struct cluster *c = loop_cluster(s->loop);
    const struct node *node = &c->nodes[n];
    double metered = s->nodes[n].host_watts;
    double watts =
        metered > 0 && node->state != NODE_ASLEEP ? metered : views_host_watts(node);

    for (int i = 0; i < node->device_count; i++)
        if (isfinite(s->devices[node->first_device + i].watts))
            watts += s->devices[node->first_device + i].watts;
    json_out_begin_object(out);
    json_out_key_string(out, "name", node->name);
    json_out_key_string(out, "state", views_node_states[node->state]);
    json_out_key_bool(out, "drained", s->nodes[n].drained);
    json_out_key_string(out, "reason", s->nodes[n].reason[0] ? s->nodes[n].reason : NULL);
    json_out_key_number(out, "since_s", node->since_s);
    json_out_key_string(out, "partitions",
                        s->nodes[n].partitions[0] ? s->nodes[n].partitions : NULL);
    json_out_key_number(out, "reserved_s",
                        node->access.reserved_s > 0 ? node->access.reserved_s : NAN);
    json_out_key_bool(out, "may_sleep", node->may_sleep);
    json_out_key_number(out, "watts", watts);
    json_out_key_number(out, "host_watts", metered > 0 ? metered : node->host_watts);
    json_out_key_bool(out, "host_modelled", !(metered > 0));
    json_out_key_number(out, "cpus", node->room.cpus);
    json_out_key_number(out, "memory_gb", node->room.memory_gb);
    json_out_key_int(out, "jobs", cluster_node_jobs(c, n));
    json_out_key_array(out, "devices");
    for (int i = 0; i < node->device_count; i++)
        views_device(out, s, node->first_device + i, who);
    json_out_end(out);
    json_out_end(out);
}
