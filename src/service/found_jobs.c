/* found_jobs.c - jobs that users handed in to the engine itself, as to Slurm by sbatch
 *
 * engine_events.c hands over what the engine found of them, restart.c brings back those
 * that were known.  They have records, rows and a seat in the loop as all jobs have, but
 * the engine decides when and where they run: nothing here starts or stops one.
 *
 * Where Corgi has control some of them are planned: these wait for us to start them, and
 * are jobs like those that were handed in here (record.entered).  All others are kept out
 * of the loop then, and their devices are taken.
 *
 * A job is stored under a key of its user, what the engine calls it.  An engine that was
 * killed may give the same name to another job: that one has the time of its submission
 * in its key too. */
#include "service/service_private.h"

#include "base/intern.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "http/api.h"
#include "service/end_why.h"
#include "service/job_digests.h"
#include "service/job_parse.h"
#include "service/lifecycle.h"
#include "service/replica_jobs.h"
#include "service/user_shares.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEY_SIZE (RECORD_REF_SIZE + 8)
#define CHECKPOINT_S                                                                     \
    30.0 /* one that is to be signalled before a move, and says no more */

/* ---- found ------------------------------------------------------------------------- */

/* "found:25_2" of the ref 25_2@1794941486+0; with the time also "found:25_2@1794941486".
 */
static void key_of(const char *ref, bool with_time, char key[KEY_SIZE])
{
    snprintf(key, KEY_SIZE, RECORD_FOUND "%.*s",
             (int)strcspn(ref, with_time ? "+" : "@#"), ref);
}

/* Is the stored job this very one, by its name and time there? */
static bool is_stored(const struct store_job *job, const char *ref)
{
    struct json_doc *doc;
    const char *extra = job->progress.extra, *was;
    size_t length = strcspn(ref, "+");
    bool same = false;

    if (!extra || json_doc_parse(&doc, extra, strlen(extra), "extra", NULL) < 0)
        return false;
    was = json_member_string(json_doc_root(doc), "ref");
    if (!was)
        was = json_member_string(json_doc_root(doc), "entered");
    same = was && strncmp(was, ref, length) == 0 && (was[length] == '+' || !was[length]);
    json_doc_destroy(doc);
    return same;
}

static uint64_t ended_by_key(struct service *s, const struct engine_found *f,
                             bool with_time)
{
    struct store_job *job = NULL;
    char key[KEY_SIZE];
    uint64_t found = 0;

    key_of(f->ref, with_time, key);
    if (records_keyed(s->records, f->user, key) ||
        store_find_job(s->reader, f->user, key, &job, NULL) < 0)
        return 0;
    if (is_stored(job, f->ref))
        found = job->request.job.id;
    store_job_destroy(job);
    return found;
}

/* The number of the stored job that is this one and has ended; 0: none has. */
static uint64_t ended_before(struct service *s, const struct engine_found *f)
{
    struct store_job *job = NULL;
    uint64_t found;

    if (f->number ==
        0) { /* a number that was given twice has a longer key, see new_key() */
        found = ended_by_key(s, f, false);
        return found > 0 ? found : ended_by_key(s, f, true);
    }
    if (records_get(s->records, f->number) ||
        store_read_job(s->reader, f->number, &job, NULL) < 0)
        return 0;
    store_job_destroy(job);
    return f->number;
}

/* The key a new job gets; false: it is stored already, and has ended. */
static bool new_key(struct service *s, const struct engine_found *f, char key[KEY_SIZE])
{
    struct store_job *job;
    bool known;

    key_of(f->ref, false, key);
    if (!records_keyed(s->records, f->user, key)) {
        if (store_find_job(s->reader, f->user, key, &job, NULL) < 0)
            return true;
        known = is_stored(job, f->ref);
        store_job_destroy(job);
        if (known)
            return false;
    }
    key_of(f->ref, true, key);
    if (records_keyed(s->records, f->user, key))
        return false;
    if (store_find_job(s->reader, f->user, key, &job, NULL) < 0)
        return true;
    store_job_destroy(job);
    return false;
}

static void name_types(const struct service *s, uint64_t types, struct str *names)
{
    const struct cluster *c = loop_cluster(s->loop);

    for (int t = 0; t < c->type_count; t++)
        if (types >> t & 1)
            str_addf(names, "%s%s", names->length ? "," : "", c->types[t].name);
}

/* What its user asked for as it was handed in.  Words that cannot be meant are passed
 * over: the job is there all the same. */
static void lay_asked(const struct service *s, const struct engine_found *f,
                      struct store_request *q)
{
    const struct job_parse_context context = {.cluster = loop_cluster(s->loop),
                                              .classes = s->classes,
                                              .classes_max = s->config.limits.classes,
                                              .priority_max = s->config.limits.priority,
                                              .now_s = f->submit_s};
    char field[SCHEMA_PATH_SIZE] = "";
    struct json_doc *doc;
    struct err err = {0};
    int rc;

    if (!f->asked)
        return;
    rc = json_doc_parse_few(&doc, f->asked, strlen(f->asked), "asked",
                            schema_most_values(&api_job_request), &err);
    if (rc == 0) {
        const struct json_value *asked = json_doc_root(doc);

        rc = schema_check(&api_job_request, asked, field, &err);
        if (rc == 0)
            rc = job_parse_asked(&context, f->user, asked, &q->job, field, &err);
        q->checkpoint_signal = (int)json_member_number(asked, "checkpoint_signal", 0);
        q->stop_grace_s = json_member_number(asked, "stop_grace_s",
                                             q->checkpoint_signal > 0 ? CHECKPOINT_S : 0);
        json_doc_destroy(doc);
    }
    if (rc < 0)
        log_warn("job_asked_wrongly", LOG_STR("ref", f->ref), LOG_STR("field", field),
                 LOG_ERR(&err));
}

/* What it is and what it asks for. */
static struct store_request request_of(struct service *s, const struct engine_found *f)
{
    struct store_request q = {0};
    struct job job = {.id = store_take_id(s->store, STORE_JOB_ID),
                      .owner = (int)f->uid,
                      .kind = JOB_TRAINING,
                      .submitted_s = f->submit_s,
                      .devices = f->devices < LOOP_MAX_GANG ? f->devices : LOOP_MAX_GANG,
                      .types_allowed = f->types,
                      .group = f->group,
                      .limit_s = f->limit_s,
                      .cpus = f->cpus,
                      .host_memory_gb = f->memory_mb / 1024,
                      .may_share = f->shares};

    str_copy(job.name, sizeof(job.name), f->name && *f->name ? f->name : f->ref);
    job_parse_guess_kind(s->classes, s->config.limits.classes, f->user, f->command, &job);
    q.job = job;
    lay_asked(s, f, &q);
    return q;
}

/* The loop has no seat for it: it is followed without one. */
static void follow_outside(struct service *s, struct record *r, enum job_state state,
                           const struct err *err)
{
    struct job_status status = {.job = *record_job(r),
                                .state = state,
                                .started_s = NAN,
                                .placed_s = NAN,
                                .demand = NAN,
                                .reference_type = -1};

    if (loop_job(s->loop, r->id))
        loop_end_job(s->loop, r->id, service_now_s(s), NULL);
    if (!r->final)
        r->final = mem_dup(&status, 1, sizeof(status));
    r->final->state = state;
    records_set_over_quota(s->records, r, false); /* no quota holds it back there */
    log_info("job_not_planned", LOG_U64("job", r->id), LOG_STR("ref", r->ref),
             LOG_STR("reason", err ? err->text : "it is only watched"));
}

static void enter(struct service *s, struct record *r)
{
    struct job job;
    struct err err = {0};

    records_set_phase(s->records, r, PHASE_WAITING);
    user_shares_tell(s, r);
    job = record_share(r);
    if (s->controls && r->ref[0])
        follow_outside(s, r, JOB_WAITING, NULL);
    else if (loop_submit(s->loop, &job, service_now_s(s), &err) < 0)
        follow_outside(s, r, JOB_WAITING, &err);
    else if (r->held)
        loop_hold(s->loop, r->id, true, service_now_s(s), NULL);
    service_want_round(s);
}

static const struct why hold = {.code = "held", .text = "held in Slurm"};

static void explain_hold(struct record *r)
{
    record_explain(r, r->held ? hold.code : "", "%s", r->held ? hold.text : "");
}

void found_jobs_found(struct service *s, const struct engine_event *e)
{
    static const struct record_replicas alone = {.max = 1, .shares = 1, .number = 1};
    const struct engine_found *f = e->found;
    const char *argv[] = {f->command, NULL};
    char key[KEY_SIZE];
    struct str types = {0};
    struct store_job stored;
    struct store_request q;
    struct record *r;
    struct tx *tx;

    if (f->ended_out) {
        *f->ended_out = ended_before(s, f);
        return;
    }
    if (strlen(f->ref) >= RECORD_REF_SIZE || !new_key(s, f, key))
        return;
    q = request_of(s, f);
    name_types(s, q.job.types_allowed, &types);
    stored =
        (struct store_job){.request = {.job = q.job,
                                       .stop_grace_s = q.stop_grace_s,
                                       .checkpoint_signal = q.checkpoint_signal,
                                       .types = types.text,
                                       .user = f->user,
                                       .uid = f->uid,
                                       .gid = f->gid,
                                       .directory = f->directory ? f->directory : "/",
                                       .argv = f->command ? argv : NULL,
                                       .key = key},
                           .progress = {.held = f->held,
                                        .exit_status = -1,
                                        .started_s = NAN,
                                        .placed_s = NAN,
                                        .ended_s = NAN}};
    store_digest(f->ref, strlen(f->ref), stored.request.digest);
    r = records_add(s->records, &stored, &alone);
    r->stored->request.job.types_allowed = q.job.types_allowed;
    str_copy(f->planned ? r->entered : r->ref, RECORD_REF_SIZE, f->ref);
    r->part = f->part;
    str_copy(r->token_digest, sizeof(r->token_digest),
             f->token_digest ? f->token_digest : "");
    job_digests_put(s->job_digests, r->token_digest, f->ref, r->id);
    records_set_there(s->records, r, &f->there);
    records_set_held(s->records, r, f->held);
    explain_hold(r);
    job_parse_know_class(s->classes, record_job(r));
    enter(s, r);
    tx = tx_begin(s);
    tx_job(tx, r, &(struct tx_step){.what = "found", .first = true});
    tx_commit(tx, NULL, NULL);
    str_fini(&types);
    *f->job_out = r->id;
    log_debug("job_found", LOG_U64("job", r->id), LOG_STR("ref", f->ref));
}

/* The engine's own scheduler has it from now on; it waits, or is told to run next. */
static void let_go(struct service *s, struct record *r)
{
    r->entered[0] = '\0';
    records_set_phase(s->records, r, PHASE_WAITING);
    follow_outside(s, r, JOB_WAITING, NULL);
    record_explain(r, "", "released in Slurm: its own scheduler starts it");
}

void found_jobs_changed(struct service *s, const struct engine_event *e)
{
    struct record *r = records_get(s->records, e->job);
    bool held = e->found->held, watched;
    struct tx *tx;

    if (!r || r->phase >= PHASE_LEAVING)
        return;
    watched = r->ref[0];
    str_copy(e->found->planned ? r->entered : r->ref, RECORD_REF_SIZE, e->found->ref);
    if (!watched && !e->found->planned)
        let_go(s, r);
    if (r->held != held) {
        records_set_held(s->records, r, held);
        if (loop_job(s->loop, r->id))
            loop_hold(s->loop, r->id, held, service_now_s(s), NULL);
        explain_hold(r);
    }
    tx = tx_begin(s);
    tx_job(tx, r, &(struct tx_step){.what = held ? "held" : "changed"});
    tx_commit(tx, NULL, NULL);
    service_want_round(s);
}

/* The record keeps it too: a job that is queued again is handed to the loop anew. */
static void bind_to(struct service *s, struct record *r, int group, double limit_s)
{
    r->stored->request.job.group = group;
    r->stored->request.job.limit_s = limit_s;
    loop_bind(s->loop, r->id, group, limit_s, service_now_s(s));
}

void found_jobs_bound(struct service *s, const struct engine_event *e)
{
    struct record *r = records_get(s->records, e->job);

    if (r)
        bind_to(s, r, e->group, e->limit_s);
}

void found_jobs_belong(struct service *s, const struct engine_event *e)
{
    struct record *r = records_get(s->records, e->job);
    struct store_batch *batch;

    if (!r || memcmp(&r->there, e->there, sizeof(r->there)) == 0)
        return;
    records_set_there(s->records, r, e->there);
    user_shares_reckon(s, r);
    batch = store_batch_create();
    tx_put_progress(s, batch, r);
    if (store_commit(s->store, batch, STORE_RELAXED, NULL, NULL, NULL) < 0)
        store_batch_destroy(batch);
    service_want_round(s);
}

/* ---- runs -------------------------------------------------------------------------- */

/* Has another job that the loop cannot seat a part of the device? */
static bool has_another(const struct service *s, const struct record *r, int device)
{
    size_t count;
    struct record *const *busy = records_busy(s->records, &count);

    for (size_t i = 0; i < count; i++)
        for (int k = 0; busy[i] != r && busy[i]->ref[0] && busy[i]->final &&
                        k < busy[i]->final->device_count;
             k++)
            if (busy[i]->final->devices[k] == device)
                return true;
    return false;
}

/* Devices that a job has which the loop cannot seat: nobody else may be put there. */
static void mark_taken(struct service *s, const struct record *r, bool taken)
{
    for (int i = 0; i < r->final->device_count; i++)
        if (taken || !has_another(s, r, r->final->devices[i]))
            loop_device_taken(s->loop, r->final->devices[i], taken, service_now_s(s));
}

static void sit_outside(struct service *s, struct record *r, const struct engine_event *e,
                        const struct err *err)
{
    follow_outside(s, r, JOB_RUNNING, err);
    r->final->device_count =
        e->device_count < LOOP_MAX_GANG ? e->device_count : LOOP_MAX_GANG;
    memcpy(r->final->devices, e->devices,
           (size_t)r->final->device_count * sizeof(*e->devices));
    r->final->started_s = r->final->placed_s = e->at_s;
    mark_taken(s, r, true);
}

/* Did the engine take GPUs of another type than the planner would have? */
static void compare_advice(const struct service *s, struct record *r,
                           const struct engine_event *e)
{
    const struct cluster *c = loop_cluster(s->loop);

    if (!isnan(r->advised_s) && e->device_count > 0)
        r->advised_elsewhere = c->devices[e->devices[0]].type != r->advised_type;
}

void found_jobs_started(struct service *s, struct record *r, const struct engine_event *e)
{
    bool again = r->phase >= PHASE_STARTING && r->phase <= PHASE_RUNNING;
    struct err err = {0};
    struct tx *tx;

    if (r->phase >= PHASE_LEAVING)
        return;
    if (!again) { /* else it was adopted: the same attempt */
        r->attempt++;
        compare_advice(s, r, e);
    }
    if (r->final ||
        loop_seat(s->loop, r->id, e->devices, e->device_count, e->at_s, &err) < 0)
        sit_outside(s, r, e, &err);
    records_set_phase(s->records, r, PHASE_RUNNING);
    r->began_s = e->at_s;
    r->engine_count = e->device_count < LOOP_MAX_GANG ? e->device_count : LOOP_MAX_GANG;
    memcpy(r->engine_devices, e->devices, (size_t)r->engine_count * sizeof(*e->devices));
    str_copy(r->hosts, sizeof(r->hosts), e->text ? e->text : "");
    r->promise = PROMISE_NEW;
    record_explain(r, "", "%s", "");
    tx = tx_begin(s);
    tx_job(tx, r, &(struct tx_step){.what = again ? "adopted" : "started"});
    tx_commit(tx, NULL, NULL);
}

/* ---- ended ------------------------------------------------------------------------- */

static void queue_again(struct service *s, struct record *r, const struct why *why)
{
    if (r->final) {
        mark_taken(s, r, false);
        free(r->final);
        r->final = NULL;
        enter(s, r);
        return;
    }
    lifecycle_requeue(s, NULL, r, r->held ? &hold : why);
}

void found_jobs_ended(struct service *s, struct record *r, const struct engine_event *e)
{
    static const enum job_state states[] = {[CONDUCT_DONE] = JOB_DONE,
                                            [CONDUCT_FAILED] = JOB_FAILED,
                                            [CONDUCT_CANCELLED] = JOB_CANCELLED};
    char text[END_WHY_SIZE];
    struct why why = end_why(e, text);
    enum conduct_fate fate;

    why.at_s = e->at_s;
    if (r->phase >= PHASE_LEAVING)
        return;
    fate = conduct_ended(s->loop, r->id, e->end, &r->tries, service_now_s(s), NULL);
    if (record_has_devices(r))
        records_set_phase(s->records, r, PHASE_LAUNCHING); /* nothing is to be stopped */
    if (fate == CONDUCT_AGAIN) {
        queue_again(s, r, &why);
        return;
    }
    if (r->final)
        mark_taken(s, r, false);
    if (e->end != ENGINE_END_UNKNOWN) {
        r->exit_status = e->signal > 0 ? -1 : e->exit_status;
        r->signal = e->signal;
    }
    lifecycle_end(s, NULL, r, states[fate], &why);
}

/* ---- counted ------------------------------------------------------------------------
 */

/* Its end is in the store, and only there: its row is written again with the counts. */
static void count_stored(struct service *s, const struct engine_event *e)
{
    struct record was = {.gpu_use = NAN};
    struct str extra = {0};
    struct store_batch *batch;
    struct store_job *job;

    if (store_read_job(s->reader, e->job, &job, NULL) < 0)
        return;
    was.id = e->job;
    record_read_extra(&was, job->progress.extra);
    was.gpu_use = e->counted.gpu_use;
    was.unused_gpus = e->counted.unused_gpus;
    was.gpu_memory_gb = e->counted.gpu_memory_gb;
    record_extra_json(&was, "", &extra);
    job->progress.job = e->job;
    job->progress.extra = extra.text;
    batch = store_batch_create();
    store_put(batch, &job->progress);
    if (store_commit(s->store, batch, STORE_RELAXED, NULL, NULL, NULL) < 0)
        store_batch_destroy(batch);
    job->progress.extra = NULL;
    store_job_destroy(job);
    str_fini(&extra);
}

void found_jobs_counted(struct service *s, const struct engine_event *e)
{
    struct record *r = records_get(s->records, e->job);
    struct store_batch *batch;

    if (!r) {
        count_stored(s, e);
        return;
    }
    r->gpu_use = e->counted.gpu_use;
    r->unused_gpus = e->counted.unused_gpus;
    r->gpu_memory_gb = e->counted.gpu_memory_gb;
    batch = store_batch_create();
    tx_put_progress(s, batch, r);
    if (store_commit(s->store, batch, STORE_RELAXED, NULL, NULL, NULL) < 0)
        store_batch_destroy(batch);
}

/* ---- after a restart --------------------------------------------------------------- */

void found_jobs_restore_outside(struct service *s, struct record *r,
                                const struct store_progress *p)
{
    struct job_status status = restart_status(r, p);

    status.state = p->state;
    if (p->state == JOB_RUNNING)
        service_devices_named(s, p->devices, status.devices, &status.device_count);
    r->final = mem_dup(&status, 1, sizeof(status));
    if (status.device_count > 0)
        records_set_phase(s->records, r, PHASE_RUNNING);
    mark_taken(s, r, true);
}

void found_jobs_return(struct service *s, struct record *r)
{
    const struct job_status *status = service_status(s, r);
    struct engine_job job;

    if (!r->ref[0] || r->phase >= PHASE_LEAVING)
        return;
    bind_to(s, r, LOOP_NOWHERE, 0); /* until the engine says where it may be */
    lifecycle_engine_job(s, r, status, &job);
    s->engine.ops->adopt(s->engine.self, &job, NULL);
}
