/* store_jobs.c - jobs as service/job_records.c writes them when they change, as it reads
 * those that live when the daemon starts, and as GET /v1/jobs finds older ones */
#include "store/store_jobs.h"

#include "base/mem.h"
#include "base/str.h"
#include "loop/requirement.h"
#include "store/batch.h"
#include "store/reader_private.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* The words that stand in the tables for our enums. */
static const char *const state_words[] = {"waiting", "running",   "done",
                                          "failed",  "cancelled", NULL};
static const char *const kinds[] = {"training", "inference", NULL};

static const char missing[] = "there is no such job in the store";

const char *store_state_name(enum job_state state)
{
    assert(state <= JOB_CANCELLED);
    return state_words[state];
}

enum job_state store_state_named(const char *name)
{
    return (enum job_state)db_word(state_words, name);
}

static enum need_kind need_named(const char *name)
{
    for (int kind = NEED_BEST_EFFORT; name && kind <= NEED_DEADLINE; kind++)
        if (strcmp(requirement_kind_name((enum need_kind)kind), name) == 0)
            return (enum need_kind)kind;
    return NEED_BEST_EFFORT;
}

/* 36 */
#define JOB_REQUEST_COLUMNS                                                              \
    "name, owner, user, uid, gid, kind, family, model, batch, gmac_per_sample,"          \
    " params_millions, memory_mb_per_sample, need, rate, latency_s, deadline_s,"         \
    " confidence, submitted_s, total_steps, duration_s, devices_wanted, memory_gb,"      \
    " priority, types, may_share, may_move, directory, argv, env, output, metrics_url,"  \
    " metrics_counter, progress_file, stop_grace_s, checkpoint_signal, extra"
/* 15 */
#define JOB_PROGRESS_COLUMNS                                                             \
    "state, held, attempt, started_s, placed_s, ended_s, steps_done, required_rate,"     \
    " moves, restarts, exit_status, signal, devices, reason, progress_extra"

#define JOB_FIVE    "?, ?, ?, ?, ?"
#define JOB_FIFTEEN JOB_FIVE ", " JOB_FIVE ", " JOB_FIVE

/* In the order of JOB_REQUEST_COLUMNS. */
static void add_request(struct store_batch *batch, const struct store_request *r)
{
    const struct job *job = &r->job;
    const struct job_descriptor *d = &job->descriptor;
    const struct requirement *need = &job->need;

    BATCH(batch, DB(job->name), DB(job->owner), DB(r->user ? r->user : ""), DB(r->uid),
          DB(r->gid), DB(kinds[job->kind]));
    BATCH(batch, DB(d->family), DB(model_kind_name(d->model)), DB(d->batch),
          DB(d->gmac_per_sample), DB(d->params_millions), DB(d->memory_mb_per_sample));
    BATCH(batch, DB(requirement_kind_name(need->kind)), DB(need->rate),
          DB(need->latency_s), DB(need->deadline_s), DB(need->confidence));
    BATCH(batch, DB(job->submitted_s), DB(job->total_steps), DB(job->duration_s),
          DB(job->devices), DB(job->memory_gb), DB(job->priority),
          DB(r->types ? r->types : ""), DB(job->may_share), DB(job->may_move),
          DB(r->directory));
    batch_words(batch, r->argv);
    batch_words(batch, r->env);
    BATCH(batch, DB(r->output), DB(r->metrics_url), DB(r->metrics_counter),
          DB(r->progress_file), DB(r->stop_grace_s), DB(r->checkpoint_signal),
          DB(r->extra));
}

/* In the order of JOB_PROGRESS_COLUMNS. */
static void add_progress(struct store_batch *batch, const struct store_progress *p)
{
    BATCH(batch, DB(store_state_name(p->state)), DB(p->held), DB(p->attempt),
          DB(p->started_s), DB(p->placed_s), DB(p->ended_s), DB(p->steps_done),
          DB(p->required_rate), DB(p->moves), DB(p->restarts), DB(p->exit_status),
          DB(p->signal), DB(p->devices ? p->devices : ""), DB(p->reason), DB(p->extra));
}

void store_put_job(struct store_batch *batch, const struct store_request *request,
                   const struct store_progress *progress)
{
    static const char sql[] =
        "INSERT INTO jobs (id, " JOB_REQUEST_COLUMNS ", " JOB_PROGRESS_COLUMNS
        ", key, digest) VALUES (?, " JOB_FIFTEEN ", " JOB_FIFTEEN ", " JOB_FIVE
        ", ?, " JOB_FIFTEEN ", ?, ?)";

    batch_statement(batch, sql, NULL);
    BATCH(batch, DB(request->job.id));
    add_request(batch, request);
    add_progress(batch, progress);
    BATCH(batch, DB(request->key),
          request->key ? db_value_blob(request->digest, sizeof(request->digest))
                       : db_value_text(NULL));
}

void store_update_request(struct store_batch *batch, const struct store_request *request)
{
    static const char sql[] =
        "UPDATE jobs SET (" JOB_REQUEST_COLUMNS ") = (?2, " JOB_FIFTEEN ", " JOB_FIFTEEN
        ", " JOB_FIVE ") WHERE id = ?1";

    batch_statement(batch, sql, missing);
    BATCH(batch, DB(request->job.id));
    add_request(batch, request);
}

void store_update_progress(struct store_batch *batch, uint64_t job,
                           const struct store_progress *progress)
{
    static const char sql[] =
        "UPDATE jobs SET (" JOB_PROGRESS_COLUMNS ") = (?2, ?, ?, ?, ?, " JOB_FIVE
        ", " JOB_FIVE ") WHERE id = ?1";

    batch_statement(batch, sql, missing);
    BATCH(batch, DB(job));
    add_progress(batch, progress);
}

/* ---- copies ------------------------------------------------------------------------ */

/* A copy is one block: the struct, lists of words, then all text. */
struct packer {
    const char **words; /* where the next list goes */
    char *text;         /* where the next text goes */
};

static void measure_words(const char *const *words, size_t *pointers, size_t *bytes)
{
    if (!words)
        return;
    for (; *words; words++) {
        ++*pointers;
        *bytes += strlen(*words) + 1;
    }
    ++*pointers;
}

static const char *pack_text(struct packer *to, const char *text)
{
    size_t size = text ? strlen(text) + 1 : 0;
    char *copy = to->text;

    if (!text)
        return NULL;
    memcpy(copy, text, size);
    to->text += size;
    return copy;
}

static const char *const *pack_words(struct packer *to, const char *const *words)
{
    const char **copy = to->words;

    if (!words)
        return NULL;
    for (; *words; words++)
        *to->words++ = pack_text(to, *words);
    *to->words++ = NULL;
    return copy;
}

struct store_job *store_job_dup(const struct store_job *job)
{
    struct store_job *block;
    struct store_job copy = *job;
    const char **texts[] = {
        &copy.request.types,         &copy.request.user,
        &copy.request.directory,     &copy.request.output,
        &copy.request.metrics_url,   &copy.request.metrics_counter,
        &copy.request.progress_file, &copy.request.key,
        &copy.request.extra,         &copy.progress.devices,
        &copy.progress.reason,       &copy.progress.extra,
    };
    size_t pointers = 0, bytes = 0;
    struct packer to;

    measure_words(job->request.argv, &pointers, &bytes);
    measure_words(job->request.env, &pointers, &bytes);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        bytes += *texts[i] ? strlen(*texts[i]) + 1 : 0;
    block = mem_zeroed(1, sizeof(*block) + pointers * sizeof(char *) + bytes);
    to.words = (const char **)(block + 1);
    to.text = (char *)(to.words + pointers);
    copy.request.argv = pack_words(&to, job->request.argv);
    copy.request.env = pack_words(&to, job->request.env);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        *texts[i] = pack_text(&to, *texts[i]);
    *block = copy;
    return block;
}

void store_job_destroy(struct store_job *job)
{
    free(job); /* one block */
}

/* ---- reading one row --------------------------------------------------------------- */

#define SELECT_JOBS                                                                      \
    "SELECT id, " JOB_REQUEST_COLUMNS ", " JOB_PROGRESS_COLUMNS ", key, digest FROM "    \
    "jobs"

/* Words of a blob, each with a NUL behind it; the list is the caller's to free, the words
 * are borrowed.  NULL when there are none. */
static const char **read_words(struct db_query *q, int column)
{
    size_t bytes, count = 0, at = 0;
    const char *blob = db_blob(q, column, &bytes);
    const char **words;

    if (db_type(q, column) == DB_NULL)
        return NULL;
    for (size_t i = 0; i < bytes; i++)
        count += blob[i] == '\0';
    words = mem_array(const char *, count + 1);
    for (size_t i = 0; i < count; i++) {
        words[i] = blob + at;
        at += strlen(words[i]) + 1;
    }
    return words;
}

static void read_request(struct db_query *q, struct store_request *r)
{
    struct job *job = &r->job;
    struct job_descriptor *d = &job->descriptor;
    const char *name, *kind, *family, *model, *need;

    DB_ROW(q, 0, DB_TO(job->id), DB_TO(name), DB_TO(job->owner), DB_TO(r->user),
           DB_TO(r->uid), DB_TO(r->gid), DB_TO(kind), DB_TO(family), DB_TO(model),
           DB_TO(d->batch), DB_TO(d->gmac_per_sample), DB_TO(d->params_millions),
           DB_TO(d->memory_mb_per_sample), DB_TO(need), DB_TO(job->need.rate),
           DB_TO(job->need.latency_s), DB_TO(job->need.deadline_s),
           DB_TO(job->need.confidence));
    DB_ROW(q, 18, DB_TO(job->submitted_s), DB_TO(job->total_steps),
           DB_TO(job->duration_s), DB_TO(job->devices), DB_TO(job->memory_gb),
           DB_TO(job->priority), DB_TO(r->types), DB_TO(job->may_share),
           DB_TO(job->may_move), DB_TO(r->directory)); /* then argv and env */
    DB_ROW(q, 30, DB_TO(r->output), DB_TO(r->metrics_url), DB_TO(r->metrics_counter),
           DB_TO(r->progress_file), DB_TO(r->stop_grace_s), DB_TO(r->checkpoint_signal),
           DB_TO(r->extra));
    str_copy(job->name, sizeof(job->name), name);
    str_copy(d->family, sizeof(d->family), family);
    job->kind = (enum job_kind)db_word(kinds, kind);
    d->model = model_kind_find(model);
    job->need.kind = need_named(need);
}

static void read_progress(struct db_query *q, int first, struct store_progress *p)
{
    const char *state = NULL;

    DB_ROW(q, first, DB_TO(state), DB_TO(p->held), DB_TO(p->attempt), DB_TO(p->started_s),
           DB_TO(p->placed_s), DB_TO(p->ended_s), DB_TO(p->steps_done),
           DB_TO(p->required_rate), DB_TO(p->moves), DB_TO(p->restarts),
           DB_TO(p->exit_status), DB_TO(p->signal), DB_TO(p->devices), DB_TO(p->reason),
           DB_TO(p->extra));
    p->state = store_state_named(state);
}

READER_WALK(job);

static int visit_job(void *ctx, struct db_query *q)
{
    const struct job_walk *walk = ctx;
    struct store_job job = {0};
    const char **argv = read_words(q, 28), **env = read_words(q, 29);
    const void *digest;
    size_t count;
    int stop;

    read_request(q, &job.request);
    job.request.argv = argv;
    job.request.env = env;
    read_progress(q, 37, &job.progress);
    job.request.key = db_text(q, 52);
    digest = db_blob(q, 53, &count);
    if (count == STORE_DIGEST_BYTES)
        memcpy(job.request.digest, digest, count);
    stop = walk->row(walk->ctx, &job);
    free(argv);
    free(env);
    return stop;
}

/* ---- many -------------------------------------------------------------------------- */

int store_read_live_jobs(struct store_reader *reader, store_job_row row, void *ctx,
                         struct err *err)
{
    static const char sql[] =
        SELECT_JOBS " WHERE state IN ('waiting', 'running') ORDER BY id";
    struct job_walk walk = {row, ctx};

    return reader_walk(db_query(reader->db, sql, err), visit_job, &walk, err) < 0 ? -1
                                                                                  : 0;
}

static void add_states(struct str *sql, unsigned states)
{
    const char *separator = " AND state IN (";

    for (int state = JOB_WAITING; state <= JOB_CANCELLED; state++) {
        if (!(states & 1u << state))
            continue;
        str_addf(sql, "%s'%s'", separator, store_state_name((enum job_state)state));
        separator = ", ";
    }
    str_add(sql, ")");
}

/* Only the terms that are asked for, so that their indices can serve. */
static struct db_query *filtered(struct store_reader *reader, const char *select,
                                 const struct store_job_filter *filter, const char *order,
                                 struct err *err)
{
    static const unsigned all = (1u << (JOB_CANCELLED + 1)) - 1;
    struct str sql = {0};
    struct db_query *q;

    str_addf(&sql, "%s WHERE %s", select, filter->before_id > 0 ? "id < ?1" : "TRUE");
    if (filter->user)
        str_add(&sql, " AND user = ?2");
    if (filter->name)
        str_add(&sql, " AND name = ?3");
    if (filter->submitted_from_s > 0)
        str_add(&sql, " AND submitted_s >= ?4");
    if (filter->submitted_to_s > 0)
        str_add(&sql, " AND submitted_s <= ?5");
    if ((filter->states & all) != 0)
        add_states(&sql, filter->states);
    str_addf(&sql, "%s", order);
    q = db_query_once(reader->db, str_text(&sql), err);
    str_fini(&sql);
    DB_BIND(q, DB((int64_t)filter->before_id), DB(filter->user), DB(filter->name),
            DB(filter->submitted_from_s), DB(filter->submitted_to_s),
            DB(reader_limit(filter->limit, 1000)));
    return q;
}

int store_read_jobs(struct store_reader *reader, const struct store_job_filter *filter,
                    store_job_row row, void *ctx, struct err *err)
{
    struct job_walk walk = {row, ctx};
    struct db_query *q =
        filtered(reader, SELECT_JOBS, filter, " ORDER BY id DESC LIMIT ?6", err);
    int rc = reader_walk(q, visit_job, &walk, err);

    db_query_destroy(q);
    return rc < 0 ? -1 : 0;
}

static int visit_count(void *ctx, struct db_query *q)
{
    *(uint64_t *)ctx = db_u64(q, 0);
    return 0;
}

int store_count_jobs(struct store_reader *reader, const struct store_job_filter *filter,
                     uint64_t *count, struct err *err)
{
    struct db_query *q = filtered(reader, "SELECT count(*) FROM jobs", filter, "", err);
    int rc = reader_walk(q, visit_count, count, err);

    db_query_destroy(q);
    return rc < 0 ? -1 : 0;
}

/* ---- one --------------------------------------------------------------------------- */

static int keep_job(void *ctx, const struct store_job *job)
{
    *(struct store_job **)ctx = store_job_dup(job);
    return 0;
}

int store_read_job(struct store_reader *reader, uint64_t id, struct store_job **job,
                   struct err *err)
{
    static const char sql[] = SELECT_JOBS " WHERE id = ?1";
    struct job_walk walk = {keep_job, job};
    struct db_query *q = db_query(reader->db, sql, err);
    int rows;

    DB_BIND(q, DB((int64_t)id));
    rows = reader_walk(q, visit_job, &walk, err);
    if (rows == 0)
        return err_set(err, ERR_NOT_FOUND, "there is no job %llu",
                       (unsigned long long)id);
    return rows < 0 ? -1 : 0;
}

int store_find_job(struct store_reader *reader, const char *user, const char *key,
                   struct store_job **job, struct err *err)
{
    static const char sql[] = SELECT_JOBS " WHERE user = ?1 AND key = ?2";
    struct job_walk walk = {keep_job, job};
    struct db_query *q = db_query(reader->db, sql, err);
    int rows;

    DB_BIND(q, DB(user), DB(key));
    rows = reader_walk(q, visit_job, &walk, err);
    if (rows == 0)
        return err_set(err, ERR_NOT_FOUND, "%s has submitted no job with this key", user);
    return rows < 0 ? -1 : 0;
}
