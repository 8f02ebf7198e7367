/* job_read.c - jobs out of the store: the reading half of store_jobs.h */
#include "store/store_jobs.h"

#include "base/mem.h"
#include "base/str.h"
#include "store/job_columns.h"
#include "store/names.h"
#include "store/reader_private.h"

#include <stdlib.h>
#include <string.h>

#define SELECT_JOBS                                                                      \
    "SELECT id, " JOB_REQUEST_COLUMNS ", " JOB_PROGRESS_COLUMNS ", key, digest FROM "    \
    "jobs"

/* ---- one row ----------------------------------------------------------------------- */

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

static void read_descriptor(struct db_query *q, int c, struct job_descriptor *d)
{
    str_copy(d->family, sizeof(d->family), db_text(q, c));
    d->model = model_kind_find(db_text(q, c + 1));
    d->batch = (int)db_int(q, c + 2);
    d->gmac_per_sample = db_real(q, c + 3);
    d->params_millions = db_real(q, c + 4);
    d->memory_mb_per_sample = db_real(q, c + 5);
}

static void read_need(struct db_query *q, int c, struct requirement *need)
{
    need->kind = names_need_of(db_text(q, c));
    need->rate = db_real(q, c + 1);
    need->latency_s = db_real(q, c + 2);
    need->deadline_s = db_real(q, c + 3);
    need->confidence = db_real(q, c + 4);
}

static void read_launch(struct db_query *q, int c, struct store_request *r)
{
    r->directory = db_text(q, c);
    r->output = db_text(q, c + 3);
    r->metrics_url = db_text(q, c + 4);
    r->metrics_counter = db_text(q, c + 5);
    r->progress_file = db_text(q, c + 6);
    r->stop_grace_s = db_real(q, c + 7);
    r->checkpoint_signal = (int)db_int(q, c + 8);
    r->extra = db_text(q, c + 9);
}

static void read_request(struct db_query *q, struct store_request *r)
{
    struct job *job = &r->job;

    job->id = db_u64(q, 0);
    str_copy(job->name, sizeof(job->name), db_text(q, 1));
    job->owner = (int)db_int(q, 2);
    r->user = db_text(q, 3);
    r->uid = (uid_t)db_int(q, 4);
    r->gid = (gid_t)db_int(q, 5);
    job->kind = names_kind_of(db_text(q, 6));
    read_descriptor(q, 7, &job->descriptor);
    read_need(q, 13, &job->need);
    job->submitted_s = db_real(q, 18);
    job->total_steps = db_real(q, 19);
    job->duration_s = db_real(q, 20);
    job->devices = (int)db_int(q, 21);
    job->memory_gb = db_real(q, 22);
    job->priority = (int)db_int(q, 23);
    r->types = db_text(q, 24);
    job->may_share = db_int(q, 25) != 0;
    job->may_move = db_int(q, 26) != 0;
    read_launch(q, 27, r);
}

static void read_progress(struct db_query *q, int c, struct store_progress *p)
{
    p->state = names_state_of(db_text(q, c));
    p->held = db_int(q, c + 1) != 0;
    p->attempt = (int)db_int(q, c + 2);
    p->started_s = db_real(q, c + 3);
    p->placed_s = db_real(q, c + 4);
    p->ended_s = db_real(q, c + 5);
    p->steps_done = db_real(q, c + 6);
    p->required_rate = db_real(q, c + 7);
    p->moves = (int)db_int(q, c + 8);
    p->restarts = (int)db_int(q, c + 9);
    p->exit_status = (int)db_int(q, c + 10);
    p->signal = (int)db_int(q, c + 11);
    p->devices = db_text(q, c + 12);
    p->reason = db_text(q, c + 13);
    p->extra = db_text(q, c + 14);
}

struct walk {
    store_job_row row;
    void *ctx;
};

static int visit_job(void *ctx, struct db_query *q)
{
    const struct walk *walk = ctx;
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
    struct walk walk = {row, ctx};

    return reader_walk(db_query(reader->db, sql, err), visit_job, &walk, err) < 0 ? -1
                                                                                  : 0;
}

static void add_states(struct str *sql, unsigned states)
{
    const char *separator = " AND state IN (";

    for (int state = JOB_WAITING; state <= JOB_CANCELLED; state++) {
        if (!(states & 1u << state))
            continue;
        str_addf(sql, "%s'%s'", separator, names_state((enum job_state)state));
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
    if (!q)
        return NULL;
    db_bind_int(q, 1, (int64_t)filter->before_id);
    db_bind_text(q, 2, filter->user);
    db_bind_text(q, 3, filter->name);
    db_bind_real(q, 4, filter->submitted_from_s);
    db_bind_real(q, 5, filter->submitted_to_s);
    db_bind_int(q, 6, reader_limit(filter->limit, 1000));
    return q;
}

int store_read_jobs(struct store_reader *reader, const struct store_job_filter *filter,
                    store_job_row row, void *ctx, struct err *err)
{
    struct walk walk = {row, ctx};
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
    struct walk walk = {keep_job, job};
    struct db_query *q = db_query(reader->db, sql, err);
    int rows;

    if (!q)
        return -1;
    db_bind_int(q, 1, (int64_t)id);
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
    struct walk walk = {keep_job, job};
    struct db_query *q = db_query(reader->db, sql, err);
    int rows;

    if (!q)
        return -1;
    db_bind_text(q, 1, user);
    db_bind_text(q, 2, key);
    rows = reader_walk(q, visit_job, &walk, err);
    if (rows == 0)
        return err_set(err, ERR_NOT_FOUND, "%s has submitted no job with this key", user);
    return rows < 0 ? -1 : 0;
}
