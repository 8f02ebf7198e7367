/* restart.c - the state again from the store, and what became of it meanwhile
 *
 * Jobs come back as they were stored; the engine is asked for every attempt that should
 * run, and where the two differ the job goes back to the queue, with a line in the log
 * and in its history.
 *
 * service.c calls restart_rebuild() before anybody can connect, and restart_checkpoint()
 * now and then and at the end.  loop/admit/readmit says what becomes of each job. */
#include "service/service_private.h"

#include "base/clock.h"
#include "base/intern.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/parse.h"
#include "loop/admit/readmit.h"
#include "loop/cluster.h"
#include "service/handlers.h"
#include "service/job_digests.h"
#include "service/job_parse.h"
#include "service/lifecycle.h"
#include "service/quotas.h"
#include "service/user_shares.h"
#include "store/rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Since version 2 the bytes of loop_save(), which know their own version. */
#define MODEL_NAME    "learned"
#define MODEL_VERSION 2
#define CLOCK_SETTING "clock"

/* Jobs that ended before the restart are looked at when they were submitted since then.
 */
#define ENDED_S   (7 * JOB_DIGESTS_KEEP_S)
#define ENDED_MAX 50000

static int take_clock(void *ctx, const void *row)
{
    const struct store_setting *clock = row;

    return !parse_double(clock->text, ctx);
}

double restart_clock_s(struct service *s)
{
    struct store_filter filter = {.name = CLOCK_SETTING};
    double stored = 0;

    store_read(s->reader, STORE_SETTINGS, &filter, take_clock, &stored, NULL);
    if (s->config.sim.start_s > 0)
        return fmax(stored, s->config.sim.start_s);
    return fmax(stored, clock_epoch_s());
}

/* ---- jobs ------------------------------------------------------------------------- */

/* A live job of the store, on its way back. */
struct returning {
    uint64_t job;
    struct readmit_facts facts;
    char *refused; /* why the loop does not take it; NULL: it does */
};

struct rebuild {
    struct service *s;
    vec_of(struct returning) jobs;
    int waiting, running, lost;
};

struct record *restart_record(struct service *s, const struct store_job *stored)
{
    const struct store_progress *p = &stored->progress;
    struct record *r = records_add(s->records, stored, NULL);
    char *leaving;

    r->stored->request.job.types_allowed =
        job_parse_types(loop_cluster(s->loop), stored->request.types);
    job_parse_know_class(s->classes, record_job(r));
    records_set_phase(s->records, r, PHASE_WAITING);
    records_set_held(s->records, r, p->held);
    r->attempt = p->attempt;
    str_copy(r->reason, sizeof(r->reason), p->reason ? p->reason : "");
    record_read_extra(r, p->extra);
    records_set_there(s->records, r, &r->there);
    job_digests_put(s->job_digests, r->token_digest, r->ref[0] ? r->ref : r->entered,
                    r->id);
    leaving = record_read_leaving(r, p->extra);
    service_devices_named(s, leaving, r->leaving_devices, &r->leaving_count);
    free(leaving);
    return r;
}

struct job_status restart_status(const struct record *r, const struct store_progress *p)
{
    return (struct job_status){.job = record_share(r),
                               .state = JOB_WAITING,
                               .required_rate = p->required_rate,
                               .started_s = p->started_s,
                               .placed_s = p->placed_s,
                               .steps_done = p->steps_done,
                               .moves = p->moves,
                               .restarts = p->restarts,
                               .demand = NAN,
                               .reference_type = (int)r->reference_type,
                               .reference_s = r->reference_s,
                               .offered = fmax(r->offered_rate, 0), /* NaN: none */
                               .held = r->held};
}

static int take_energy(void *ctx, const void *row)
{
    const struct store_energy_sum *sum = row;
    struct record *r = ctx;

    r->shown.use.joules += sum->joules;
    r->shown.use.error_joules += sum->error_joules;
    r->shown.use.modelled_joules += sum->modelled_joules;
    r->shown.use.busy_s += sum->busy_s;
    r->shown.saving.joules += sum->saved_joules;
    r->shown.saving.error += sum->saved_error;
    r->shown.saving.unknown += sum->unknown_joules;
    return 0;
}

void restart_read_more(struct service *s, struct record *r)
{
    struct store_filter filter = {.job = r->id};

    if (r->attempt == 0)
        return; /* it has used none, and there may be a hundred thousand of them */
    r->shown = (struct record_energy){0};
    store_read(s->reader, STORE_ENERGY_BY_JOB, &filter, take_energy, r, NULL);
    r->booked = r->shown;
}

/* Into the loop with it: where it ran if it did, else into the queue. */
static void enter_loop(struct service *s, struct record *r,
                       const struct store_progress *p, struct returning *back)
{
    struct job_status status;
    struct err err = {0};

    user_shares_tell(s, r);
    status = restart_status(r, p);
    if (back->facts.devices_found > 0 &&
        back->facts.devices_found == back->facts.devices_named) {
        status.state = JOB_RUNNING;
        service_devices_named(s, p->devices, status.devices, &status.device_count);
        if (loop_restore(s->loop, &status, &err) == 0)
            return;
        log_warn("restore_failed", LOG_U64("job", r->id), LOG_ERR(&err));
        back->facts.seats_refused = true;
        status.state = JOB_WAITING;
        status.device_count = 0;
    }
    if (loop_restore(s->loop, &status, &err) == 0)
        return;
    log_warn("restore_failed", LOG_U64("job", r->id), LOG_ERR(&err));
    back->refused = mem_strdup(err.text);
}

static int take_job(void *ctx, const void *row)
{
    const struct store_job *stored = row;
    struct rebuild *b = ctx;
    struct record *r = restart_record(b->s, stored);
    const struct store_progress *p = &stored->progress;
    struct returning back = {.job = r->id,
                             .facts = {.state = p->state, .at_zero = record_at_zero(r)}};
    int devices[LOOP_MAX_GANG];

    if (r->leaving_end) { /* the loop had let go of it */
        struct job_status status = restart_status(r, p);

        status.state = JOB_RUNNING;
        status.device_count = r->leaving_count;
        memcpy(status.devices, r->leaving_devices, sizeof(status.devices));
        r->final = mem_dup(&status, 1, sizeof(status));
        records_set_phase(b->s->records, r, PHASE_LEAVING);
        vec_push(&b->jobs, back);
        return 0;
    }
    if (b->s->controls && r->ref[0]) {
        found_jobs_restore_outside(b->s, r, p);
        vec_push(&b->jobs, back);
        return 0;
    }
    if (p->state == JOB_RUNNING)
        back.facts.devices_named =
            service_devices_named(b->s, p->devices, devices, &back.facts.devices_found);
    if (readmit_decide(&back.facts).release)
        records_set_held(b->s->records, r, false);
    enter_loop(b->s, r, p, &back);
    vec_push(&b->jobs, back);
    return 0;
}

/* The engine has the attempt, or says why not. */
static enum readmit_engine ask_engine(struct service *s, struct record *r)
{
    struct engine_job job;
    struct err err = {0};

    records_set_phase(s->records, r, PHASE_STARTING);
    lifecycle_engine_job(s, r, loop_job(s->loop, r->id), &job);
    if (s->engine.ops->adopt(s->engine.self, &job, &err) == 0)
        return READMIT_RUNS;
    records_set_phase(s->records, r, PHASE_LAUNCHING); /* nothing is there to stop */
    return READMIT_GONE;
}

static void bring_back(struct rebuild *b, struct returning *back, struct record *r)
{
    struct service *s = b->s;
    struct readmit d;
    struct why why;

    back->facts.orphan = r->replicas.of && !records_get(s->records, r->replicas.of);
    back->facts.refused = back->refused;
    d = readmit_decide(&back->facts);
    if (d.step == READMIT_ASK) {
        back->facts.engine = ask_engine(s, r);
        d = readmit_decide(&back->facts);
    }
    why = (struct why){.code = d.code, .text = d.reason};
    b->waiting += d.step == READMIT_WAIT;
    b->running += d.step == READMIT_ADOPT;
    b->lost += d.step == READMIT_REQUEUE;
    if (d.step == READMIT_ADOPT)
        log_info("job_adopted", LOG_U64("job", r->id), LOG_I64("attempt", r->attempt));
    else if (d.step == READMIT_REQUEUE)
        lifecycle_requeue(s, NULL, r, &why);
    else if (d.step == READMIT_CANCEL || d.step == READMIT_FAIL)
        lifecycle_end(s, NULL, r, d.step == READMIT_FAIL ? JOB_FAILED : JOB_CANCELLED,
                      &why);
}

/* Ask the engine for every attempt that should run. */
static void reconcile(struct rebuild *b)
{
    vec_each (struct returning, back, &b->jobs) {
        struct record *r = records_get(b->s->records, back->job);

        restart_read_more(b->s, r);
        if (r->phase != PHASE_ENDED && r->phase != PHASE_LEAVING && /* with its service */
            !r->final)
            bring_back(b, back, r);
        lifecycle_resume_leaving(b->s, r);
        found_jobs_return(b->s, r);
        if (!r->ref[0])
            lifecycle_hand_in(b->s, r);
    }
    b->s->engine.ops->adopted(b->s->engine.self);
}

/* ---- operators, quotas, tokens ---------------------------------------------------- */

static int take_setting(void *ctx, const void *row)
{
    const struct store_setting *setting = row;
    struct service *s = ctx;

    if (strcmp(setting->name, SERVICE_PAUSED) == 0)
        s->paused = setting->text[0] != '\0';
    quotas_load(ctx, setting->name, setting->text);
    return 0;
}

static int take_word(void *ctx, const void *row)
{
    const struct store_operator *word = row;
    struct service *s = ctx;
    const struct cluster *c = loop_cluster(s->loop);
    const char *reason = word->reason ? word->reason : "";

    if (word->scope == STORE_DEVICE) {
        int d = service_device_named(s, word->name);

        if (d < 0)
            return 0;
        if (word->drained)
            loop_drain(s->loop, d, true, service_now_s(s), NULL);
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
            loop_drain(s->loop, c->nodes[n].first_device + i, true, service_now_s(s),
                       NULL);
        if (word->power == STORE_POWER_ON)
            loop_allow_sleep(s->loop, n, false, service_now_s(s));
    }
    return 0;
}

static int take_token(void *ctx, const void *row)
{
    const struct store_token *t = row;
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

/* Everything as it was at the last checkpoint; returns when that was, NaN: never. */
static double recall(struct service *s)
{
    struct store_model model;
    struct err err = {0};

    if (store_load_model(s->reader, MODEL_NAME, &model, &err) < 0) {
        if (err.code != ERR_NOT_FOUND)
            log_warn("learned_lost", LOG_ERR(&err));
        return NAN;
    }
    if (model.version != MODEL_VERSION)
        err_set(&err, ERR_UNSUPPORTED, "the checkpoint is of another version of Corgi");
    else
        loop_load(s->loop, model.bytes, model.count, &err);
    free(model.bytes);
    if (err.code != ERR_NONE) {
        log_warn("learned_lost", LOG_ERR(&err));
        return NAN;
    }
    log_info("learned_recalled", LOG_NUM("at_s", model.at_s),
             LOG_U64("bytes", model.count));
    return model.at_s;
}

struct window_replay {
    double since_s;
    vec_of(struct measurement) windows;
};

static int take_window(void *ctx, const void *row)
{
    const struct store_measurement *m = row;
    struct window_replay *replay = ctx;

    if (m->windows <= 1 && m->at_s > replay->since_s)
        vec_push(&replay->windows, ((struct measurement){
                                       .job = m->job,
                                       .at_s = m->at_s,
                                       .window_s = m->window_s,
                                       .rate = m->rate,
                                       .device_watts = m->watts,
                                       .out_of_memory = m->out_of_memory,
                                       .doubt = 1 - m->confidence,
                                       .busy = fmax(m->busy, 0), /* NaN: none */
                                       .latency_s = fmax(m->latency_s, 0),
                                       .median_s = fmax(m->median_s, 0),
                                       .held = fmax(m->held, 0),
                                   }));
    return 0;
}

static int by_time(const void *a, const void *b)
{
    const struct measurement *x = a, *y = b;

    return (x->at_s > y->at_s) - (x->at_s < y->at_s);
}

/* What jobs that still run measured after the checkpoint, by the same door as ever: the
 * loop refuses windows from before the jobs stood as they do. */
static void replay(struct service *s, double since_s)
{
    struct window_replay replay = {.since_s = since_s};
    size_t count, learned = 0;
    const struct job_status *const *jobs = loop_jobs(s->loop, &count);
    struct err err = {0};

    for (size_t i = 0; i < count; i++)
        if (jobs[i]->state == JOB_RUNNING &&
            store_read(s->reader, STORE_MEASUREMENTS,
                       &(struct store_filter){.job = jobs[i]->job.id, .from_s = since_s},
                       take_window, &replay, &err) < 0)
            log_warn("windows_lost", LOG_U64("job", jobs[i]->job.id), LOG_ERR(&err));
    if (replay.windows.count > 0)
        qsort(replay.windows.items, replay.windows.count, sizeof(struct measurement),
              by_time);
    vec_each (const struct measurement, m, &replay.windows)
        learned += loop_measure(s->loop, m, NULL, NULL) == 0;
    log_info("windows_replayed", LOG_U64("learned", learned),
             LOG_U64("stored", replay.windows.count));
    vec_free(&replay.windows);
}

static int take_total(void *ctx, const void *row)
{
    const struct store_energy_sum *sum = row;
    struct service *s = ctx;

    int device = service_device_named(s, sum->device);

    s->total_joules += sum->joules;
    s->saved_joules += sum->saved_joules;
    if (device >= 0)
        s->devices[device].joules += sum->joules;
    return 0;
}

static int take_count(void *ctx, const void *row)
{
    const struct store_state_count *jobs = row;

    ((long *)ctx)[jobs->state] = (long)jobs->count;
    return 0;
}

/* Probes of jobs that ended not long ago may still report. */
static int take_ended(void *ctx, const void *row)
{
    const struct store_job *stored = row;
    struct service *s = ctx;
    struct record was = {.gpu_use = NAN};

    record_read_extra(&was, stored->progress.extra);
    job_digests_put(s->job_digests, was.token_digest, was.ref[0] ? was.ref : was.entered,
                    stored->request.job.id);
    return 0;
}

static void recall_ended(struct service *s)
{
    const struct store_filter filter = {.states = 1u << JOB_DONE | 1u << JOB_FAILED |
                                                  1u << JOB_CANCELLED,
                                        .from_s = service_now_s(s) - ENDED_S,
                                        .limit = ENDED_MAX};

    if (s->config.engine == SERVICE_ENGINE_SLURM)
        store_read(s->reader, STORE_JOBS, &filter, take_ended, s, NULL);
}

int restart_rebuild(struct service *s, struct err *err)
{
    struct rebuild rebuild = {.s = s};
    long counts[JOB_CANCELLED + 1] = {0};
    uint64_t oldest;
    double learned_s;
    int rc = -1;

    if (store_read(s->reader, STORE_SETTINGS, NULL, take_setting, s, err) < 0 ||
        store_read(s->reader, STORE_OPERATORS, NULL, take_word, s, err) < 0 ||
        store_read(s->reader, STORE_TOKENS, NULL, take_token, s, err) < 0 ||
        store_read_event_span(s->reader, &oldest, &s->newest_event, err) < 0)
        return -1;
    learned_s = recall(s);
    user_shares_tell_all(s);
    if (store_read(s->reader, STORE_LIVE_JOBS, NULL, take_job, &rebuild, err) < 0 ||
        store_read(s->reader, STORE_ENERGY_BY_JOB, NULL, take_total, s, err) < 0)
        goto done;
    reconcile(&rebuild);
    loop_forget_absent(s->loop);
    if (!isnan(learned_s))
        replay(s, learned_s);
    recall_ended(s);
    store_read(s->reader, STORE_STATE_COUNTS, NULL, take_count, counts, NULL);
    s->done = counts[JOB_DONE];
    s->failed = counts[JOB_FAILED];
    s->cancelled = counts[JOB_CANCELLED];
    log_info("restored", LOG_I64("waiting", rebuild.waiting),
             LOG_I64("running", rebuild.running), LOG_I64("lost", rebuild.lost),
             LOG_BOOL("interrupted", store_was_interrupted(s->store)));
    rc = 0;
done:
    vec_each (struct returning, back, &rebuild.jobs)
        free(back->refused);
    vec_free(&rebuild.jobs);
    return rc;
}

void restart_checkpoint(struct service *s)
{
    struct store_batch *batch = store_batch_create();
    unsigned char *bytes = NULL;
    size_t count;
    struct err err = {0};
    char text[32];

    snprintf(text, sizeof(text), "%.3f", service_now_s(s));
    store_put(batch, &(struct store_setting){CLOCK_SETTING, text});
    if (store_commit(s->store, batch, STORE_RELAXED, NULL, NULL, &err) < 0)
        store_batch_destroy(batch);
    if (loop_save(s->loop, &bytes, &count, &err) < 0 ||
        store_save_model(s->store, MODEL_NAME, MODEL_VERSION, service_now_s(s), bytes,
                         count, NULL, NULL, &err) < 0)
        log_warn("checkpoint_failed", LOG_ERR(&err));
    free(bytes);
}
