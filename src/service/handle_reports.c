/* handle_reports.c - POST /v1/reports: what probes on other machines saw
 *
 * corgi-report sends the very lines that a probe gives to a local engine (probe/
 * probe_report.h), many at once, with the job's token.  report_desk.c says which are new;
 * windows of a job that runs go the way of all measurements (engine_events.c), those of
 * one that has ended since are stored.  POST /v1/jobs/{id}/token makes such a token. */
#include "service/handlers.h"

#include "base/file.h"
#include "base/log.h"
#include "loop/record/record.h"
#include "probe/probe_report.h"
#include "service/job_digests.h"
#include "service/lifecycle.h"
#include "service/report_desk.h"
#include "service/tx.h"

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define KEY_FILE      "report.key"
#define TOKEN_S       (30 * 86400.0) /* a token lives so long unless asked otherwise */
#define LATE_S        JOB_DIGESTS_KEEP_S /* after the end of a job its probes are heard */
#define LATE_CLOCKS_S 5.0                /* of nodes may be apart so much */
#define ASK_S         3.0                /* a run that is fenced asks so often */
_Static_assert(API_MAX_REPORT == PROBE_REPORT_MAX_LINE, "one format on both sides");

/* ---- the key ------------------------------------------------------------------------
 */

static int make_key(const char *path, unsigned char *key, struct err *err)
{
    int fd, rc = 0;

    if (auth_key_make(key, err) < 0)
        return -1;
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return err_sys(err, "cannot make %s", path);
    if (write(fd, key, AUTH_KEY_BYTES) != AUTH_KEY_BYTES || fsync(fd) < 0)
        rc = err_sys(err, "cannot write %s", path);
    close(fd);
    if (rc < 0)
        unlink(path);
    return rc;
}

int reports_load_key(struct service *s, struct err *err)
{
    char *path = file_join(s->state, KEY_FILE), *bytes = NULL;
    struct err not_kept = {0};
    size_t count = 0;
    int rc = 0;

    if (access(path, F_OK) < 0) {
        /* A full disk is no reason not to start: then no token outlives this daemon. */
        if (make_key(path, s->report_key, &not_kept) < 0)
            log_warn("report_key_not_kept", LOG_ERR(&not_kept));
    } else if (file_read(path, AUTH_KEY_BYTES + 1, &bytes, &count, err) < 0) {
        rc = -1;
    } else if (count != AUTH_KEY_BYTES) {
        rc =
            err_set(err, ERR_FORMAT,
                    "%s has %zu bytes, not %d: remove it, and all tokens of jobs with it",
                    path, count, AUTH_KEY_BYTES);
    } else {
        memcpy(s->report_key, bytes, AUTH_KEY_BYTES);
    }
    free(bytes);
    free(path);
    return rc;
}

int reports_job_token(const struct service *s, uint64_t job,
                      char token[AUTH_JOB_TOKEN_SIZE], struct err *err)
{
    return auth_job_token_make(s->report_key, job, floor((double)time(NULL) + TOKEN_S),
                               token, err);
}

void handle_make_job_token(void *ctx, struct request *r)
{
    struct service *s = ctx;
    struct record *record = handlers_record(s, r);
    double lasts_s = json_member_number(r->body, "expires_in_s", TOKEN_S);
    double expires_s = floor((double)time(NULL) + lasts_s);
    char token[AUTH_JOB_TOKEN_SIZE];
    struct handlers_answer a;
    struct err err = {0};

    if (!record)
        return;
    if (auth_job_token_make(s->report_key, record->id, expires_s, token, &err) < 0) {
        request_fail(r, "expires_in_s", &err);
        return;
    }
    handlers_begin(&a, r, NULL);
    json_out_key(&a.out, "job");
    json_out_u64(&a.out, record->id);
    json_out_key_string(&a.out, "token", token);
    json_out_key_number(&a.out, "expires_s", expires_s);
    explicit_bzero(token, sizeof(token));
    handlers_answer(&a, 201);
}

/* ---- reports ------------------------------------------------------------------------
 */

struct batch {
    struct service *s;
    uint64_t job;
    uint64_t named;          /* job as the probe knows it; 0: by its token alone */
    struct record *record;   /* NULL: it has ended */
    struct store_job *ended; /* as stored; NULL: it has not, or nobody asked yet */
    struct report_run *run;
    enum report_claim claim;
    bool whole; /* the run is all of the job */
    bool done;  /* it was done, which the store is to know before it is told */
    struct store_batch *late; /* rows of a job that has ended; NULL: none */
    int taken, known, refused;
};

static double or_zero(double value)
{
    return isnan(value) ? 0 : value;
}

static struct engine_event event_of(const struct batch *b, const struct probe_report *p,
                                    int attempt)
{
    return (struct engine_event){
        .kind = ENGINE_MEASURED,
        .job = b->job,
        .attempt = attempt,
        .measurement = {.job = b->job,
                        .at_s = p->at_s,
                        .window_s = p->window_s,
                        .rate = p->rate,
                        .device_watts = p->watts > 0 ? p->watts : NAN,
                        .busy = or_zero(p->service.busy),
                        .latency_s = or_zero(p->service.latency_s),
                        .median_s = or_zero(p->service.median_s),
                        .held = or_zero(p->service.held)},
        .steps = p->steps,
        .source = probe_source_names[p->source],
        .confidence = isnan(p->confidence) ? 0 : p->confidence};
}

static bool take_running(struct batch *b, const struct probe_report *p)
{
    struct record *r = b->record;
    const struct record_attempt attempt = {.began_s = r->began_s,
                                           .now_s = service_now_s(b->s),
                                           .told_s = NAN, /* its own number says that */
                                           .measured = r->measured_attempt == r->attempt};
    struct engine_event e = event_of(b, p, r->attempt);
    enum record_refusal refusal;

    if (r->phase != PHASE_RUNNING)
        return false;
    refusal = record_own_word(&e.measurement, &attempt, NULL);
    if (refusal != RECORD_TAKEN) {
        engine_events_refused(b->s, r, refusal);
        return false;
    }
    energy_probe_saw(b->s, r, p->watts, p->at_s);
    /* What the loop cannot learn from (it has just been moved) is stored all the same. */
    engine_events_measured(b->s, r, &e, NAN, NULL);
    return true;
}

/* Nobody learns from a job that is over; that it was measured stays. */
static bool take_late(struct batch *b, const struct probe_report *p)
{
    const struct store_progress *at = &b->ended->progress;

    if (!(p->at_s - p->window_s >= at->started_s - LATE_CLOCKS_S) ||
        !(p->at_s <= at->ended_s + LATE_CLOCKS_S))
        return false;
    if (!b->late)
        b->late = store_batch_create();
    store_put(b->late,
              &(struct store_measurement){.job = b->job,
                                          .attempt = at->attempt,
                                          .at_s = p->at_s,
                                          .window_s = p->window_s,
                                          .rate = p->rate,
                                          .watts = p->watts,
                                          .steps = p->steps,
                                          .latency_s = p->service.latency_s,
                                          .median_s = p->service.median_s,
                                          .busy = p->service.busy,
                                          .held = p->service.held,
                                          .source = probe_source_names[p->source],
                                          .confidence = or_zero(p->confidence)});
    return true;
}

/* A run that is all of the job was done, so the job must not run again.  Of the attempt
 * that runs or leaves the engine tells the end itself, unless Slurm lost sight of it
 * (was_done() of engine_events.c); the end of an earlier one takes back what the job was
 * given since. */
static void note_done(struct batch *b, const struct probe_report *p)
{
    struct record *r = b->record;
    struct tx *tx;
    int attempt;

    if (!b->whole || b->claim == REPORT_FREE || !r || r->gone ||
        r->phase >= PHASE_LEAVING || b->run->rank != 0 || p->exit_status != 0 ||
        p->signal != 0 || p->told != 0)
        return;
    b->done = true;
    if (b->claim == REPORT_LOST) {
        lifecycle_done(b->s, r);
        return;
    }
    attempt = b->run->attempt > 0      ? b->run->attempt
              : r->leaving_attempt > 0 ? r->leaving_attempt
                                       : r->attempt;
    if (r->done_attempt == attempt)
        return;
    r->done_attempt = attempt;
    tx = tx_begin(b->s);
    tx_job(tx, r, &(struct tx_step){.what = "completed"});
    tx_commit(tx, NULL, NULL);
}

/* What is not taken yet may still say that the job must not run again. */
static void note_ends(struct batch *b, const struct json_value *lines)
{
    for (size_t i = 0; i < json_value_count(lines); i++) {
        const char *line = json_value_string(json_value_item(lines, i));
        struct probe_report p;

        if (probe_report_parse(&p, line, strlen(line), NULL) == 0 &&
            p.kind == PROBE_ENDED && p.job == b->named)
            note_done(b, &p);
    }
}

/* True: it was taken. */
static bool take(struct batch *b, const struct probe_report *p)
{
    if (p->kind == PROBE_ENDED) {
        b->run->ended = true;
        note_done(b, p);
    }
    if (p->kind == PROBE_STARTED || p->kind == PROBE_ENDED)
        return true;
    if (!(p->rate >= 0) || !(p->window_s > 0) || !(p->at_s > b->run->told_s) ||
        (b->claim == REPORT_LOST && b->record))
        return false;
    if (p->kind == PROBE_DEMAND) {
        if (b->record && b->record->phase == PHASE_RUNNING)
            engine_events_demand(b->s, b->record, p->rate);
        return b->record != NULL;
    }
    if (!(b->record ? take_running(b, p) : take_late(b, p)))
        return false;
    b->run->told_s = p->at_s;
    return true;
}

static void take_all(struct batch *b, uint64_t number, const struct json_value *lines)
{
    for (size_t i = 0; i < json_value_count(lines); i++, number++) {
        const char *line = json_value_string(json_value_item(lines, i));
        struct probe_report p;

        if (number < b->run->next) {
            b->known++;
            continue;
        }
        b->run->lost += number - b->run->next;
        b->run->next = number + 1;
        /* A broken promise may end the job in the middle of the list. */
        if (b->record && !records_get(b->s->records, b->job))
            b->refused++;
        else if (probe_report_parse(&p, line, strlen(line), NULL) == 0 &&
                 p.job == b->named && take(b, &p))
            b->taken++;
        else
            b->refused++;
    }
}

/* Runs are fenced where the engine's nodes may be cut off from it while their jobs go on.
 */
static bool is_fenced(const struct batch *b)
{
    const char *extra = b->record ? NULL : b->ended->progress.extra;

    return b->s->controls &&
           (b->record ? b->record->entered[0] : extra && strstr(extra, "\"entered\""));
}

/* 0: the job is there, or ended not long ago.  -1: the request was answered. */
static int find_job(struct batch *b, struct request *r)
{
    struct err err = {0};
    const char *user;

    b->record = records_get(b->s->records, b->job);
    if (b->record && (b->record->phase == PHASE_PENDING || b->record->gone))
        b->record = NULL;
    if (!b->record && store_read_job(b->s->reader, b->job, &b->ended, &err) < 0) {
        request_answer_error(r, 404, "not_found", "job", "there is no job %llu",
                             (unsigned long long)b->job);
        return -1;
    }
    user = b->record ? record_user(b->record) : b->ended->request.user;
    if (r->identity.role != AUTH_REPORTER && !service_may_touch(&r->identity, user)) {
        handlers_forbid(r, b->job);
        return -1;
    }
    if (b->record || service_now_s(b->s) - b->ended->progress.ended_s < LATE_S)
        return 0;
    request_answer_error(r, 409, "exists", "job",
                         "job %llu does not run, and has not ended within the last day",
                         (unsigned long long)b->job);
    return -1;
}

static struct report_run *find_run(const struct batch *b, const struct json_value *body,
                                   struct err *err)
{
    struct service *s = b->s;
    struct report_run who = {.job = b->job,
                             .rank = (int)json_member_number(body, "rank", 0),
                             .attempt = b->record ? b->record->attempt : 0};

    str_copy(who.id, sizeof(who.id), json_member_string(body, "run"));
    str_copy(who.node, sizeof(who.node), json_member_string(body, "node"));
    if (!s->report_desk)
        s->report_desk = report_desk_create();
    return report_desk_run(s->report_desk, &who, service_now_s(s), err);
}

/* Is the run on a node of the job's? */
static bool is_here(const struct batch *b)
{
    const struct cluster *c = loop_cluster(b->s->loop);

    for (int i = 0; i < b->record->engine_count; i++) {
        const struct device *d = &c->devices[b->record->engine_devices[i]];

        if (strcmp(c->nodes[d->node].name, b->run->node) == 0)
            return true;
    }
    return false;
}

static double placed_s(const struct batch *b)
{
    const struct job_status *status = loop_job(b->s->loop, b->job);

    return status ? status->placed_s : NAN;
}

static enum report_claim claim_of(const struct batch *b, const struct json_value *body)
{
    const struct record *r = b->record;
    double age_s = json_member_number(body, "age_s", NAN);
    struct report_job job = {.fenced = is_fenced(b)};

    if (job.fenced && r) {
        job.starts = r->phase == PHASE_STARTING || r->phase == PHASE_LEAVING;
        job.runs = r->phase == PHASE_RUNNING;
        job.here = is_here(b);
        job.attempt = r->attempt;
        job.leaving = r->leaving_attempt;
        job.began_s = job.runs ? r->began_s : placed_s(b);
    }
    return report_desk_claim(b->run, &job, service_now_s(b->s) - age_s);
}

/* Is its probe faster than our look at the engine that starts it?  Runs of attempts
 * before are not: what they tell is taken. */
static bool is_too_early(const struct batch *b)
{
    const struct record *r = b->record;

    if (!r || (!r->ref[0] && !r->entered[0]))
        return false;
    return r->phase == PHASE_STARTING ? b->claim != REPORT_LOST
                                      : r->phase < PHASE_STARTING && !is_fenced(b);
}

static void answer(const struct batch *b, struct request *r)
{
    const struct record *now = records_get(b->s->records, b->job);
    struct handlers_answer a;

    handlers_begin(&a, r, NULL);
    json_out_key(&a.out, "next");
    json_out_u64(&a.out, b->run->next);
    json_out_key_int(&a.out, "taken", b->taken);
    json_out_key_int(&a.out, "known", b->known);
    json_out_key_int(&a.out, "refused", b->refused);
    json_out_key_bool(&a.out, "stop", b->claim == REPORT_LOST && !b->run->ended);
    json_out_key_number(&a.out, "ask_s", b->claim == REPORT_FREE ? 0 : ASK_S);
    /* Whoever hears 200 throws the reports away: after whatever was to be stored. */
    if (b->done || (now && now->done_attempt > 0))
        handlers_commit(&a, tx_begin(b->s), 200);
    else
        handlers_answer(&a, 200);
}

/* -1: whoever asks may not speak for this job, or names none; the request was answered.
 */
static int find_speaker(struct batch *b, struct request *r)
{
    const struct auth_identity *who = &r->identity;
    const char *name = json_member_string(r->body, "slurm_job");
    uint64_t may = who->job;

    b->job = b->named = (uint64_t)json_member_number(r->body, "job", 0);
    if (who->role == AUTH_REPORTER && who->job == 0) {
        may = name ? job_digests_job(b->s->job_digests, who->digest, name) : 0;
        b->job = b->job ? b->job : may;
    }
    if (who->role == AUTH_REPORTER && (may == 0 || may != b->job)) {
        request_answer_error(
            r, 403, "forbidden", "job", "the token is of another job than %llu%s%.60s",
            (unsigned long long)b->job, name ? ", of Slurm's " : "", name ? name : "");
        return -1;
    }
    if (b->job == 0) {
        request_answer_error(r, 400, "invalid", "job", "job is missing");
        return -1;
    }
    return 0;
}

void handle_report(void *ctx, struct request *r)
{
    struct service *s = ctx;
    struct batch b = {.s = s, .whole = json_member_bool(r->body, "whole", false)};
    struct err err = {0};

    if (!handlers_writable(s, r))
        return;
    if (find_speaker(&b, r) < 0)
        return;
    if (find_job(&b, r) < 0)
        goto done;
    b.run = find_run(&b, r->body, &err);
    if (!b.run) {
        request_fail(r, "run", &err);
        goto done;
    }
    b.claim = claim_of(&b, r->body);
    if (is_too_early(&b)) {
        note_ends(&b, json_value_get(r->body, "reports"));
        request_answer_error(r, 409, "exists", "job", "job %llu does not run yet",
                             (unsigned long long)b.job);
        goto done; /* it asks again */
    }
    if (b.claim == REPORT_LOST && !b.run->ended)
        log_info("run_lost_claim", LOG_U64("job", b.job), LOG_STR("run", b.run->id),
                 LOG_STR("node", b.run->node));
    take_all(&b, (uint64_t)json_member_number(r->body, "first", 1),
             json_value_get(r->body, "reports"));
    if (b.late && store_commit(s->store, b.late, STORE_RELAXED, NULL, NULL, &err) < 0)
        store_batch_destroy(b.late); /* telemetry may be lost; the stats count it */
    answer(&b, r);
done:
    store_job_destroy(b.ended);
}

void handlers_end_reports(struct service *s)
{
    report_desk_destroy(s->report_desk);
    s->report_desk = NULL;
}
