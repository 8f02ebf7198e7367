/* handle_advice.c - /v1/advice: what Corgi would have done where another scheduler
 * decides, from the daemon's own record, and what `corgi advise` made of that record
 *
 * While it watches, rounds.c notes in each job's record when the planner would have
 * started it, and found_jobs.c whether the scheduler took other GPUs.  A look goes
 * through the stored jobs in slices, between which others have their turn. */
#include "service/handlers.h"

#include "base/intern.h"
#include "base/mem.h"
#include "probe/jobstats.h"
#include "service/tx.h"
#include "service/views.h"
#include "store/rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DAY_S        86400.0
#define DEFAULT_DAYS 7
#define MAX_DAYS     90
#define SLICE        64
#define SCAN_MAX     50000
#define SETTING      "advice"

/* Jobs of one day, or of one user. */
struct advice_tally {
    double jobs, gpu_s;
    double waited_s; /* of all of them */
    double sooner_jobs, sooner_s;
    double elsewhere, moves;
    double joules;
    double counted_jobs, idle_jobs, idle_gpu_s; /* with counters of use; hardly used */
};

struct look {
    struct service *s;
    struct handlers_answer answer;
    double from_s;
    int days;
    struct advice_tally day[MAX_DAYS];
    struct intern *names; /* of users */
    vec_of(struct advice_tally) users;
    uint64_t last; /* id of the last job that was looked at */
    int scanned;
    bool cut; /* there are more than one look goes through */
};

/* ---- the record -------------------------------------------------------------------- */

static int count_devices(const struct store_job *job)
{
    const char *names = job->progress.devices;
    int count = names && *names ? 1 : 0;

    for (; names && *names; names++)
        count += *names == ',';
    return count > 0 ? count : job->request.job.devices;
}

static void add_job(struct advice_tally *t, const struct store_job *job,
                    const struct record *extra, double now_s)
{
    const struct store_progress *p = &job->progress;
    double end_s = isnan(p->ended_s) ? now_s : p->ended_s;
    double sooner_s = p->started_s - extra->advised_s;

    t->jobs++;
    t->gpu_s += fmax(0, end_s - p->started_s) * count_devices(job);
    t->waited_s += fmax(0, p->started_s - job->request.job.submitted_s);
    t->joules += extra->booked.use.joules;
    if (sooner_s > 0) { /* not NaN */
        t->sooner_jobs++;
        t->sooner_s += sooner_s;
    }
    t->elsewhere += extra->advised_elsewhere > 0;
    t->moves += extra->advised_moves > 0 ? extra->advised_moves : 0;
    t->counted_jobs += extra->gpu_use >= 0; /* not NaN */
    if (extra->gpu_use < JOBSTATS_HARDLY_USED ||
        (extra->gpu_use >= 0 && extra->unused_gpus > 0)) {
        t->idle_jobs++;
        t->idle_gpu_s += fmax(0, end_s - p->started_s) * count_devices(job);
    }
}

static struct advice_tally *tally_of(struct look *l, const char *user)
{
    size_t id = (size_t)intern_id(l->names, user);

    if (id == l->users.count)
        vec_push(&l->users, (struct advice_tally){0});
    return &l->users.items[id];
}

static int job_row(void *ctx, const void *row)
{
    const struct store_job *job = row;
    struct look *l = ctx;
    struct record extra = {.advised_s = NAN, .gpu_use = NAN};
    double now_s = service_now_s(l->s);
    int day = (int)((job->request.job.submitted_s - l->from_s) / DAY_S);

    l->last = job->request.job.id;
    l->scanned++;
    if (isnan(job->progress.started_s) || day < 0 || day >= l->days)
        return 0;
    record_read_extra(&extra, job->progress.extra);
    add_job(&l->day[day], job, &extra, now_s);
    add_job(tally_of(l, job->request.user), job, &extra, now_s);
    return 0;
}

/* ---- answers ----------------------------------------------------------------------- */

static void tally_members(struct json_out *out, const struct advice_tally *t)
{
    json_out_key_number(out, "jobs", t->jobs);
    json_out_key_number(out, "gpu_s", t->gpu_s);
    json_out_key_number(out, "mean_wait_s", t->jobs > 0 ? t->waited_s / t->jobs : NAN);
    json_out_key_number(out, "sooner_jobs", t->sooner_jobs);
    json_out_key_number(out, "mean_sooner_s",
                        t->sooner_jobs > 0 ? t->sooner_s / t->sooner_jobs : NAN);
    json_out_key_number(out, "elsewhere_jobs", t->elsewhere);
    json_out_key_number(out, "advised_moves", t->moves);
    json_out_key_number(out, "joules", t->joules > 0 ? t->joules : NAN);
    json_out_key_number(out, "counted_jobs", t->counted_jobs);
    json_out_key_number(out, "idle_jobs", t->idle_jobs);
    json_out_key_number(out, "idle_gpu_s", t->idle_gpu_s);
}

static int take_published(void *ctx, const void *row)
{
    const struct store_setting *setting = row;
    char **published = ctx;

    if (strcmp(setting->name, SETTING) == 0)
        *published = mem_strdup(setting->text);
    return 0;
}

static void write_answer(struct look *l)
{
    struct json_out *out = &l->answer.out;
    char *published = NULL;
    struct err err = {0};

    json_out_key_bool(out, "watching", l->s->advises);
    json_out_key_number(out, "from_s", l->from_s);
    json_out_key_bool(out, "cut", l->cut);
    json_out_key_array(out, "days");
    for (int d = 0; d < l->days; d++) {
        json_out_begin_object(out);
        json_out_key_number(out, "at_s", l->from_s + d * DAY_S);
        tally_members(out, &l->day[d]);
        json_out_end(out);
    }
    json_out_end(out);
    json_out_key_array(out, "users");
    for (size_t u = 0; u < l->users.count; u++) {
        json_out_begin_object(out);
        json_out_key_string(out, "user", intern_name(l->names, (int)u));
        tally_members(out, &l->users.items[u]);
        json_out_end(out);
    }
    json_out_end(out);
    if (store_read(l->s->reader, STORE_SETTINGS, NULL, take_published, &published, &err) <
        0) {
        handlers_fail(&l->answer, &err);
    } else {
        views_raw(out, "published", published);
        handlers_answer(&l->answer, 200);
    }
    free(published);
}

static void end_look(struct look *l)
{
    intern_destroy(l->names);
    vec_free(&l->users);
    free(l);
}

static void go_on(void *ctx)
{
    struct look *l = ctx;
    struct reactor *reactor = l->s->reactor;
    struct store_filter filter = {
        .from_s = l->from_s, .before_id = l->last, .limit = SLICE};
    struct err err = {0};
    int before = l->scanned;

    if (store_read(l->s->reader, STORE_JOBS, &filter, job_row, l, &err) < 0) {
        handlers_fail(&l->answer, &err);
        end_look(l);
        return;
    }
    l->cut = l->scanned >= SCAN_MAX;
    if (l->scanned - before == SLICE && !l->cut && !l->s->draining &&
        !request_gone(l->answer.request)) {
        reactor_post(reactor, go_on, l);
    } else {
        write_answer(l);
        end_look(l);
    }
    reactor_did(reactor, "advice");
}

void handle_advice(void *ctx, struct request *r)
{
    struct service *s = ctx;
    double days = DEFAULT_DAYS;
    struct look *l;

    if (r->identity.role == AUTH_USER) {
        request_answer_error(r, 403, "forbidden", NULL,
                             "advice tells of everybody's jobs: it is for viewers and "
                             "operators");
        return;
    }
    if (!handlers_number(r, "days", 1, MAX_DAYS, &days))
        return;
    l = mem_new(struct look);
    l->s = s;
    l->days = (int)days;
    l->from_s = (floor(service_now_s(s) / DAY_S) - l->days + 1) * DAY_S;
    l->names = intern_create();
    handlers_begin(&l->answer, r, NULL);
    go_on(l);
}

/* ---- what corgi advise says -------------------------------------------------------- */

/* One answer of `corgi advise --json`, and no other JSON. */
static bool is_advice(const char *text)
{
    struct json_doc *doc;
    const struct json_value *root;
    bool is;

    if (json_doc_parse(&doc, text, strlen(text), "advice", NULL) < 0)
        return false;
    root = json_doc_root(doc);
    is = json_member_number(root, "version", 0) == 1 &&
         json_value_count(json_value_get(root, "policies")) >= 2 &&
         json_value_get(root, "replay") && json_value_get(root, "users");
    json_doc_destroy(doc);
    return is;
}

void handle_publish_advice(void *ctx, struct request *r)
{
    struct service *s = ctx;
    const char *advice = json_member_string(r->body, "advice");
    struct str text = {0};
    struct handlers_answer a;
    struct json_out out;
    struct tx *tx;

    if (!handlers_writable(s, r))
        return;
    if (!is_advice(advice)) {
        request_answer_error(r, 400, "invalid", "advice",
                             "advice must be what `corgi advise --json` prints");
        return;
    }
    json_out_init(&out, &text, false);
    json_out_begin_object(&out);
    json_out_key_number(&out, "at_s", service_now_s(s));
    json_out_key_string(&out, "by", r->identity.name);
    views_raw(&out, "advice", advice);
    json_out_end(&out);
    tx = tx_begin(s);
    store_put(tx_batch(tx), &(struct store_setting){SETTING, str_text(&text)});
    str_fini(&text);
    handlers_begin(&a, r, NULL);
    a.only_stored = true;
    json_out_key_number(&a.out, "at_s", service_now_s(s));
    handlers_commit(&a, tx, 200);
}
