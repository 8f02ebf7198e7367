/* restart.c - see restart.h */
#include "service/restart.h"

#include "base/intern.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/parse.h"
#include "loop/cluster.h"
#include "service/job_parse.h"
#include "service/lifecycle.h"
#include "service/planning_thread.h"
#include "service/quotas.h"
#include "store/store_energy.h"
#include "store/store_events.h"
#include "store/models.h"
#include "store/store_settings.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MODEL_NAME    "observations"
#define CLOCK_SETTING "clock"

double restart_clock_s(struct service *s)
{
    double stored = 0;
    char *text;

    if (store_read_setting(s->reader, CLOCK_SETTING, &text, NULL) == 0) {
        parse_double(text, &stored);
        free(text);
    }
    return fmax(stored, (double)time(NULL));
}

/* ---- jobs ------------------------------------------------------------------------- */

struct counts {
    int waiting, running, lost;
};

static void read_extra(struct record *r, const char *extra)
{
    const struct json_value *root;
    struct json_doc *doc;
    const char *code;
    double n = 0;

    if (!extra || json_doc_parse(&doc, extra, strlen(extra), "extra", NULL) < 0)
        return;
    root = json_doc_root(doc);
    json_value_number(json_value_get(root, "steps_before"), &r->steps_before);
    json_value_number(json_value_get(root, "promised_rate"), &r->promised_rate);
    json_value_number(json_value_get(root, "confidence"), &r->confidence);
    if (json_value_number(json_value_get(root, "memory_failures"), &n))
        r->memory_failures = (int)n;
    code = json_value_string(json_value_get(root, "reason_code"));
    if (code)
        str_copy(r->reason_code, sizeof(r->reason_code), code);
    json_doc_destroy(doc);
}

/* Names to numbers; -1 when one is not there any more. */
static int find_devices(const struct service *s, const char *names, int *devices)
{
    int count = 0;

    while (names && *names && count < LOOP_MAX_GANG) {
        size_t length = strcspn(names, ",");
        char name[LOOP_NAME_SIZE + 16];

        if (length >= sizeof(name))
            return -1;
        memcpy(name, names, length);
        name[length] = '\0';
        devices[count] = service_device_named(s, name);
        if (devices[count++] < 0)
            return -1;
        names += length + (names[length] == ',');
    }
    return count;
}

static void fill_status(struct service *s, const struct record *r,
                        const struct store_progress *p, struct job_status *status)
{
    *status = (struct job_status){.job = record_share(r),
                                  .state = p->state,
                                  .required_rate = p->required_rate,
                                  .started_s = p->started_s,
                                  .placed_s = p->placed_s,
                                  .steps_done = p->steps_done,
                                  .moves = p->moves,
                                  .restarts = p->restarts,
                                  .demand = NAN,
                                  .held = r->held};
    if (p->state != JOB_RUNNING)
        return;
    status->device_count = find_devices(s, p->devices, status->devices);
    if (status->device_count <= 0) {
        status->state = JOB_WAITING;
        status->device_count = 0;
    }
}

static int take_quote(void *ctx, const struct store_quote *quote)
{
    struct record *r = ctx;

    free(r->quote_json);
    r->quote_json = quote->detail ? mem_strdup(quote->detail) : NULL;
    return 0;
}

static int take_energy(void *ctx, const struct store_energy_sum *sum)
{
    struct record *r = ctx;

    r->joules = sum->joules;
    r->joules_error = sum->error_joules;
    r->joules_modelled = sum->modelled_joules;
    r->saved_joules = sum->saved_joules;
    return 0;
}

static int take_job(void *ctx, const struct store_job *stored)
{
    struct service *s = ctx;
    const struct store_progress *p = &stored->progress;
    struct record *r = records_add(s->records, stored);
    struct job_status status;
    struct err err = {0};

    r->stored->request.job.types_allowed = job_parse_types(s, stored->request.types);
    records_set_phase(s->records, r, PHASE_WAITING);
    records_set_held(s->records, r, p->held);
    r->attempt = p->attempt;
    str_copy(r->reason, sizeof(r->reason), p->reason ? p->reason : "");
    read_extra(r, p->extra);
    if (record_at_zero(r)) /* nobody could tell of requests meanwhile: see */
        records_set_held(s->records, r, false);
    fill_status(s, r, p, &status);
    if (loop_restore(s->loop, &status, &err) < 0) {
        log_warn("restore_failed", LOG_U64("job", r->id), LOG_ERR(&err));
        status.state = JOB_WAITING;
        status.device_count = 0;
        if (loop_restore(s->loop, &status, &err) < 0) {
            /* It cannot even wait, say as its GPU type is gone: let its owner know. */
            lifecycle_end(s, NULL, r, JOB_FAILED,
                          &(struct why){.code = "not_started", .text = err.text});
            return 0;
        }
    }
    records_set_phase(s->records, r,
                      status.state == JOB_RUNNING ? PHASE_STARTING : PHASE_WAITING);
    if (p->state == JOB_RUNNING && status.state != JOB_RUNNING)
        r->dirty = true; /* its history is told by reconcile() */
    return 0;
}

static void read_more(struct service *s)
{
    size_t count;
    struct record *const *all = records_all(s->records, &count);

    for (size_t i = 0; i < count; i++) {
        struct store_energy_filter filter = {.job = all[i]->id};

        store_read_quotes(s->reader, all[i]->id, take_quote, all[i], NULL);
        if (all[i]->attempt > 0)
            store_read_energy(s->reader, STORE_ENERGY_BY_JOB, &filter, take_energy,
                              all[i], NULL);
    }
}

/* Ask the engine for every attempt that should run. */
static void reconcile(struct service *s, struct counts *counts)
{
    size_t count;
    struct record *const *all = records_all(s->records, &count);

    for (size_t i = 0; i < count; i++) {
        struct record *r = all[i];
        const struct job_status *status = loop_job(s->loop, r->id);
        struct engine_job job;
        struct err err = {0};

        if (!status || r->phase == PHASE_ENDED)
            continue;
        if (r->phase == PHASE_STARTING) {
            lifecycle_engine_job(r, status, &job);
            if (s->engine.ops->adopt(s->engine.self, &job, &err) == 0) {
                counts->running++;
                log_info("job_adopted", LOG_U64("job", r->id),
                         LOG_I64("attempt", r->attempt));
                continue;
            }
        } else if (!r->dirty) {
            counts->waiting++;
            continue;
        }
        counts->lost++;
        records_set_phase(s->records, r,
                          PHASE_LAUNCHING); /* nothing of it is there to stop */
        r->dirty = false;
        lifecycle_requeue(
            s, NULL, r,
            &(struct why){.code = "lost",
                          .text = "it did not run any more when the daemon came back"});
    }
    s->engine.ops->adopted(s->engine.self);
}

/* ---- operators, quotas, tokens ---------------------------------------------------- */

static int take_setting(void *ctx, const char *name, const char *text)
{
    quotas_load(ctx, name, text);
    return 0;
}

static int take_word(void *ctx, const struct store_operator *word)
{
    struct service *s = ctx;
    const struct cluster *c = loop_cluster(s->loop);
    const char *reason = word->reason ? word->reason : "";

    if (word->scope == STORE_DEVICE) {
        int d = service_device_named(s, word->name);

        if (d < 0)
            return 0;
        if (word->drained)
            loop_drain(s->loop, d, true, NULL);
        if (word->cap_watts > 0 &&
            loop_fix_cap(s->loop, d, word->cap_watts, service_now_s(s), NULL) == 0)
            s->devices[d].wish_watts = word->cap_watts;
        str_copy(s->devices[d].reason, sizeof(s->devices[d].reason), reason);
    } else {
        int n = service_node_named(s, word->name);

        if (n < 0)
            return 0;
        s->nodes[n].drained = word->drained;
        s->nodes[n].power = (int)word->power;
        str_copy(s->nodes[n].reason, sizeof(s->nodes[n].reason), reason);
        for (int i = 0; i < c->nodes[n].device_count && word->drained; i++)
            loop_drain(s->loop, c->nodes[n].first_device + i, true, NULL);
        if (word->power == STORE_POWER_ON)
            loop_allow_sleep(s->loop, n, false);
    }
    return 0;
}

static int take_token(void *ctx, const struct store_token *t)
{
    static const enum auth_role roles[] = {AUTH_VIEWER, AUTH_USER, AUTH_OPERATOR};
    struct service *s = ctx;
    struct token token = {.id = t->id, .created_s = t->created_s};
    const char *note = t->note ? t->note : "";

    if (t->revoked_s > 0)
        return 0;
    /* The note begins with the public part, which has no column of its own. */
    str_copy(token.public_id, sizeof(token.public_id), note);
    if (strlen(note) >= AUTH_ID_SIZE)
        str_copy(token.note, sizeof(token.note), note + AUTH_ID_SIZE);
    memcpy(token.record.digest, t->digest, AUTH_DIGEST_BYTES);
    token.record.expires_s = t->expires_s;
    token.record.identity =
        (struct auth_identity){.role = roles[t->role], .uid = t->uid, .gid = t->gid};
    str_copy(token.record.identity.name, AUTH_NAME_SIZE, t->user);
    str_copy(token.record.identity.token, AUTH_ID_SIZE, token.public_id);
    vec_push(&s->tokens, token);
    return 0;
}

/* ---- what was learned ------------------------------------------------------------- */

static void recall(struct service *s)
{
    struct store_model model;
    struct err err = {0};

    if (store_load_model(s->reader, MODEL_NAME, &model, &err) < 0) {
        if (err.code != ERR_NOT_FOUND)
            log_warn("memory_lost", LOG_ERR(&err));
        return;
    }
    if (model.version != MEMORY_VERSION ||
        memory_load(s->memory, model.bytes, model.count, &err) < 0)
        log_warn("memory_lost", LOG_ERR(&err));
    free(model.bytes);
    memory_teach(s->memory, loop_model(s->loop));
    planning_thread_recall(s->mind, s->memory);
    log_info("memory_recalled", LOG_U64("cells", memory_count(s->memory)));
}

static int take_total(void *ctx, const struct store_energy_sum *sum)
{
    ((struct service *)ctx)->total_joules = sum->joules;
    ((struct service *)ctx)->saved_joules = sum->saved_joules;
    return 0;
}

static long count_in(struct service *s, enum job_state state)
{
    struct store_job_filter filter = {.states = 1u << state};
    uint64_t count = 0;

    store_count_jobs(s->reader, &filter, &count, NULL);
    return (long)count;
}

int restart_rebuild(struct service *s, struct err *err)
{
    struct store_energy_filter everything = {0};
    struct counts counts = {0};
    uint64_t oldest;

    if (store_read_settings(s->reader, take_setting, s, err) < 0 ||
        store_read_operators(s->reader, take_word, s, err) < 0 ||
        store_read_tokens(s->reader, take_token, s, err) < 0 ||
        store_read_event_span(s->reader, &oldest, &s->newest_event, err) < 0)
        return -1;
    recall(s);
    if (store_read_live_jobs(s->reader, take_job, s, err) < 0 ||
        store_read_energy(s->reader, STORE_ENERGY_TOTAL, &everything, take_total, s,
                          err) < 0)
        return -1;
    read_more(s);
    reconcile(s, &counts);
    s->done = count_in(s, JOB_DONE);
    s->failed = count_in(s, JOB_FAILED);
    s->cancelled = count_in(s, JOB_CANCELLED);
    log_info("restored", LOG_I64("waiting", counts.waiting),
             LOG_I64("running", counts.running), LOG_I64("lost", counts.lost),
             LOG_BOOL("interrupted", store_was_interrupted(s->store)));
    return 0;
}

void restart_checkpoint(struct service *s)
{
    struct store_batch *batch = store_batch_create();
    struct str bytes = {0};
    struct err err = {0};
    char text[32];

    snprintf(text, sizeof(text), "%.3f", service_now_s(s));
    store_put_setting(batch, CLOCK_SETTING, text);
    if (store_commit(s->store, batch, STORE_RELAXED, NULL, NULL, &err) < 0)
        store_batch_destroy(batch);
    memory_save(s->memory, &bytes);
    if (store_save_model(s->store, MODEL_NAME, MEMORY_VERSION, service_now_s(s),
                         str_text(&bytes), bytes.length, NULL, NULL, &err) < 0)
        log_warn("checkpoint_failed", LOG_ERR(&err));
    str_fini(&bytes);
}
