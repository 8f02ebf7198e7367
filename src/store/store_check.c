/* store_check.c - is what is stored sound?  See admin.h
 *
 * SQLite says whether its pages, types and references hold; what our own rows must agree
 * on stands below, one query an invariant, whose rows are the sentences to show. */
#include "store/store_private.h"

#include "base/str.h"

#include <string.h>

/* No invariant tells more than this: after a disaster the first ones are enough. */
#define MOST " LIMIT 20"

static const char *const invariants[] = {
    "SELECT printf('job %d is %s, but its last transition leads to %s', j.id, j.state,"
    " t.to_state) FROM jobs AS j JOIN transitions AS t"
    " ON t.id = (SELECT max(id) FROM transitions WHERE job = j.id)"
    " WHERE t.to_state <> j.state" MOST,

    "SELECT printf('job %d has no history', id) FROM jobs"
    " WHERE NOT EXISTS (SELECT 1 FROM transitions WHERE job = jobs.id)" MOST,

    "SELECT printf('transition %d of job %d begins at %s, the one before ends at %s', id,"
    " job, ifnull(from_state, 'nothing'), ifnull(before, 'nothing')) FROM"
    " (SELECT id, job, from_state, lag(to_state) OVER (PARTITION BY job ORDER BY id)"
    " AS before FROM transitions) WHERE from_state IS NOT before" MOST,

    "SELECT printf('job %d runs without a device', id) FROM jobs"
    " WHERE state = 'running' AND devices = ''" MOST,

    "SELECT printf('job %d runs, but was never started', id) FROM jobs"
    " WHERE state = 'running' AND attempt = 0" MOST,

    "SELECT printf('job %d is %s, but the time of its end is %s', id, state,"
    " iif(ended_s IS NULL, 'missing', 'there')) FROM jobs"
    " WHERE (state IN ('waiting', 'running')) <> (ended_s IS NULL)" MOST,

    "SELECT printf('job %d has a key without the digest of its request', id) FROM jobs"
    " WHERE key IS NOT NULL AND ifnull(length(digest), 0) <> 32" MOST,

    "SELECT printf('numbers of %s begin again at %d', name, next) FROM sequences"
    " WHERE next <= CASE name WHEN 'jobs' THEN (SELECT max(id) FROM jobs)"
    " WHEN 'events' THEN (SELECT max(id) FROM events)"
    " WHEN 'quotes' THEN (SELECT max(id) FROM quotes)"
    " WHEN 'decisions' THEN (SELECT max(id) FROM decisions)"
    " WHEN 'tokens' THEN (SELECT max(id) FROM tokens)"
    " WHEN 'models' THEN (SELECT max(id) FROM models) END"
    " AND (SELECT value FROM meta WHERE name = 'open') = 0" MOST,

    "SELECT printf('energy of job %d on %s: more is modelled than used', job, device)"
    " FROM energy WHERE modelled_joules > joules * 1.000001 + 0.001" MOST,

    "SELECT printf('energy of job %d is booked on %s, but it is of %s', e.job, e.user,"
    " j.user) FROM energy AS e JOIN jobs AS j ON j.id = e.job"
    " WHERE e.user <> j.user" MOST,
};

struct store_checking {
    struct store_reader *reader;
    store_finding finding;
    void *ctx;
    int findings;
};

static void report(struct store_checking *check, const char *sentence)
{
    check->findings++;
    check->finding(check->ctx, sentence);
}

/* Each row's first column is a finding, unless it says ok. */
static int report_rows(struct store_checking *check, const char *sql, const char *prefix,
                       struct err *err)
{
    struct db_query *q = db_query(check->reader->db, sql, err);
    int rc;

    if (!q)
        return -1;
    while ((rc = db_next(q, err)) > 0) {
        struct str text = {0};
        const char *found = db_text(q, 0);

        if (found && strcmp(found, "ok") != 0) {
            str_addf(&text, "%s%s", prefix, found);
            report(check, str_text(&text));
        }
        str_fini(&text);
    }
    db_reset(q);
    return rc;
}

static int check_pages(struct store_checking *check, bool quick, struct err *err)
{
    return report_rows(check,
                       quick ? "PRAGMA quick_check(20)" : "PRAGMA integrity_check(20)",
                       "SQLite: ", err);
}

static int check_references(struct store_checking *check, struct err *err)
{
    return report_rows(check,
                       "SELECT printf('row %d of %s belongs to a row of %s that is not"
                       " there', rowid, \"table\", parent)"
                       " FROM pragma_foreign_key_check" MOST,
                       "", err);
}

/* ---- checkpoints ------------------------------------------------------------------- */

struct model_check {
    struct store_checking *check;
    int rc;
    struct err *err;
};

static int check_model(void *ctx, const void *row)
{
    struct model_check *m = ctx;
    const struct model_row *model = row;
    struct str text = {0};

    m->rc = model_read_parts(m->check->reader, model, &text, m->err);
    if (m->rc == 0) {
        str_clear(&text);
        str_addf(&text, "checkpoint %llu of %s is damaged", (unsigned long long)model->id,
                 model->name);
        report(m->check, str_text(&text));
    }
    str_fini(&text);
    return m->rc < 0;
}

static int check_models(struct store_checking *check, struct err *err)
{
    struct model_check m = {.check = check, .err = err};

    return store_read(check->reader, STORE_MODELS, NULL, check_model, &m, err) < 0 ||
                   m.rc < 0
               ? -1
               : 0;
}

/* ---- all --------------------------------------------------------------------------- */

static int count_rows(struct db *db, struct store_check_result *result, struct err *err)
{
    int64_t jobs, transitions, events, measurements;

    if (db_number(db, "SELECT count(*) FROM jobs", &jobs, err) < 0 ||
        db_number(db, "SELECT count(*) FROM transitions", &transitions, err) < 0 ||
        db_number(db, "SELECT count(*) FROM events", &events, err) < 0 ||
        db_number(db, "SELECT count(*) FROM measurements", &measurements, err) < 0)
        return -1;
    result->jobs = (uint64_t)jobs;
    result->transitions = (uint64_t)transitions;
    result->events = (uint64_t)events;
    result->measurements = (uint64_t)measurements;
    return 0;
}

static int check_all(struct store_checking *check, bool quick, struct err *err)
{
    if (check_pages(check, quick, err) < 0)
        return -1;
    if (check->findings > 0)
        return 0; /* what rows say on broken pages would only mislead */
    if (check_references(check, err) < 0 || check_models(check, err) < 0)
        return -1;
    for (size_t i = 0; i < sizeof(invariants) / sizeof(invariants[0]); i++)
        if (report_rows(check, invariants[i], "", err) < 0)
            return -1;
    return 0;
}

int store_check(const char *path, bool quick, store_finding finding, void *ctx,
                struct store_check_result *result, struct err *err)
{
    struct store_checking check = {.finding = finding, .ctx = ctx};
    struct store_check_result found = {.schema = migrations_count};
    int rc;

    if (store_reader_open(&check.reader, path, err) < 0)
        return -1;
    /* One moment for all: a daemon may be writing. */
    rc = db_exec(check.reader->db, "BEGIN", err) < 0 || check_all(&check, quick, err) < 0
             ? -1
             : 0;
    if (rc == 0 && check.findings == 0)
        rc = count_rows(check.reader->db, &found, err);
    store_reader_close(check.reader);
    if (rc == 0) {
        found.findings = check.findings;
        *result = found;
    }
    return rc;
}
