/* admin.c - what `corgi store` does beside a daemon, or without one: check, backup,
 * export
 *
 * SQLite says whether its pages, types and references hold; what our own rows must agree
 * on stands below, one query an invariant, whose rows are the sentences to show. */
#include "store/admin.h"

#include "base/file.h"
#include "base/json.h"
#include "base/json_out.h"
#include "store/store_private.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- check ------------------------------------------------------------------------- */

/* No invariant tells more than this: after a disaster the first ones are enough. */
#define MOST " LIMIT 20"

static const char references[] =
    "SELECT printf('row %d of %s belongs to a row of %s that is not there', rowid,"
    " \"table\", parent) FROM pragma_foreign_key_check" MOST;

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

    "SELECT printf('the text of quote %d of job %d is damaged', id, ifnull(job, 0))"
    " FROM quotes WHERE detail_sum <> text_sum(detail)" MOST,

    "SELECT printf('the text of decision %d of job %d is damaged', id, job)"
    " FROM decisions WHERE alternatives_sum <> text_sum(alternatives)" MOST,

    "SELECT printf('the text of event %d is damaged', id)"
    " FROM events WHERE data_sum <> text_sum(data)" MOST,

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
    bool failed; /* to read what is read meanwhile: err says why */
    struct err *err;
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
    sqlite3_stmt *q = db_query(check->reader->db, sql, err);
    int rc;

    if (!q)
        return -1;
    while ((rc = db_next(check->reader->db, q, err)) > 0) {
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

static int check_model(void *ctx, const void *row)
{
    struct store_checking *check = ctx;
    const struct model_row *model = row;
    struct str text = {0};
    int rc = model_read_parts(check->reader, model, &text, check->err);

    if (rc == 0) {
        str_clear(&text);
        str_addf(&text, "checkpoint %llu of %s is damaged", (unsigned long long)model->id,
                 model->name);
        report(check, str_text(&text));
    }
    check->failed = rc < 0;
    str_fini(&text);
    return rc < 0;
}

static int check_all(struct store_checking *check, bool quick, struct err *err)
{
    if (report_rows(check,
                    quick ? "PRAGMA quick_check(20)" : "PRAGMA integrity_check(20)",
                    "SQLite: ", err) < 0)
        return -1;
    if (check->findings > 0)
        return 0; /* what rows say on broken pages would only mislead */
    if (report_rows(check, references, "", err) < 0 ||
        store_read(check->reader, STORE_MODELS, NULL, check_model, check, err) < 0 ||
        check->failed)
        return -1;
    for (size_t i = 0; i < sizeof(invariants) / sizeof(invariants[0]); i++)
        if (report_rows(check, invariants[i], "", err) < 0)
            return -1;
    return 0;
}

static int count_rows(struct store_reader *reader, struct store_check_result *result,
                      struct err *err)
{
    const struct {
        const char *sql;
        uint64_t *count;
    } tables[] = {
        {"SELECT count(*) FROM jobs", &result->jobs},
        {"SELECT count(*) FROM transitions", &result->transitions},
        {"SELECT count(*) FROM events", &result->events},
        {"SELECT count(*) FROM measurements", &result->measurements},
    };
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < sizeof(tables) / sizeof(tables[0]); i++)
        rc = db_number(reader->db, tables[i].sql, (int64_t *)tables[i].count, err);
    return rc;
}

int store_check(const char *path, bool quick, store_finding finding, void *ctx,
                struct store_check_result *result, struct err *err)
{
    struct store_checking check = {.finding = finding, .ctx = ctx, .err = err};
    struct store_check_result found = {.schema = migrations_count};
    int rc;

    if (store_reader_open(&check.reader, path, err) < 0)
        return -1;
    /* One moment for all: a daemon may be writing. */
    rc = db_exec(check.reader->db, "BEGIN", err) < 0 || check_all(&check, quick, err) < 0
             ? -1
             : 0;
    if (rc == 0 && check.findings == 0)
        rc = count_rows(check.reader, &found, err);
    store_reader_close(check.reader);
    if (rc == 0) {
        found.findings = check.findings;
        *result = found;
    }
    return rc;
}

/* ---- backup ------------------------------------------------------------------------ */

static int sync_file(const char *path, struct err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    int rc = fd < 0 || fsync(fd) < 0 ? err_sys(err, "cannot sync %s", path) : 0;

    if (fd >= 0)
        close(fd);
    return rc;
}

/* Would the copy overwrite the store it is made from? */
static bool is_same_file(const char *a, const char *b)
{
    struct stat first, second;

    return stat(a, &first) == 0 && stat(b, &second) == 0 &&
           first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

static int refuse_target(const char *path, const char *to, bool replace, struct err *err)
{
    if (is_same_file(path, to))
        return err_set(err, ERR_INVALID, "%s is the store itself: name another file", to);
    if (!replace && access(to, F_OK) == 0)
        return err_set(err, ERR_EXISTS,
                       "%s is there already: name another file, or replace it with "
                       "--force",
                       to);
    return 0;
}

/* Into a neighbour first: under its name a backup is whole or not there. */
int store_backup(const char *path, const char *to, bool replace, struct err *err)
{
    struct str temporary = {0};
    struct store_reader *reader = NULL;
    int rc = -1;

    str_addf(&temporary, "%s.write", to);
    if (refuse_target(path, to, replace, err) < 0 ||
        store_reader_open(&reader, path, err) < 0)
        goto done;
    unlink(str_text(&temporary)); /* of an attempt that was interrupted */
    if (db_copy(reader->db, str_text(&temporary), err) < 0 ||
        sync_file(str_text(&temporary), err) < 0)
        goto done;
    rc = file_rename(str_text(&temporary), to, err);
done:
    if (rc < 0)
        unlink(str_text(&temporary));
    store_reader_close(reader);
    str_fini(&temporary);
    return rc;
}

/* ---- export ------------------------------------------------------------------------ */

/* What can be exported; secrets stand in columns that are left out. */
static const struct {
    const char *table;
    const char *columns; /* NULL: all */
    const char *order;
} exports[] = {
    {"jobs", NULL, "id"},
    {"transitions", NULL, "id"},
    {"decisions", NULL, "id"},
    {"quotes", NULL, "id"},
    {"guard_events", NULL, "id"},
    {"events", NULL, "id"},
    {"measurements", NULL, "id"},
    {"measurement_hours", NULL, "hour_s, job, device"},
    {"power", NULL, "id"},
    {"power_hours", NULL, "hour_s, device"},
    {"energy", NULL, "start_s, span_s, device, job"},
    {"tokens", "id, role, user, uid, gid, note, created_s, expires_s, revoked_s", "id"},
    {"audit", NULL, "id"},
    {"settings", NULL, "name"},
    {"operator_settings", NULL, "scope, name"},
    {"models", NULL, "id"},
};
#define EXPORT_COUNT (sizeof(exports) / sizeof(exports[0]))

static void add_words(struct json_out *out, sqlite3_stmt *q, int column)
{
    const char **words = db_words(q, column);

    json_out_begin_array(out);
    for (const char **word = words; *word; word++)
        json_out_string(out, *word);
    json_out_end(out);
    free(words);
}

static void add_hex(struct json_out *out, sqlite3_stmt *q, int column)
{
    const unsigned char *bytes = sqlite3_column_blob(q, column);
    struct str hex = {0};

    for (int i = 0; i < sqlite3_column_bytes(q, column); i++)
        str_addf(&hex, "%02x", bytes[i]);
    json_out_string(out, str_text(&hex));
    str_fini(&hex);
}

static bool is_json(const char *text)
{
    struct json_doc *doc = NULL;
    bool valid = json_doc_parse(&doc, text, strlen(text), "", NULL) == 0;

    json_doc_destroy(doc);
    return valid;
}

static void add_value(struct json_out *out, sqlite3_stmt *q, int column)
{
    /* Columns whose text is JSON already, unless it was damaged. */
    static const char json[] = "extra,progress_extra,data,alternatives,detail";
    const char *name = sqlite3_column_name(q, column);

    switch (sqlite3_column_type(q, column)) {
    case SQLITE_NULL:
        json_out_null(out);
        break;
    case SQLITE_INTEGER:
        json_out_int(out, sqlite3_column_int64(q, column));
        break;
    case SQLITE_FLOAT:
        json_out_number(out, sqlite3_column_double(q, column));
        break;
    case SQLITE_TEXT:
        if (str_in_list(json, ',', name) && is_json(db_text(q, column)))
            json_out_raw(out, db_text(q, column));
        else
            json_out_string(out, db_text(q, column));
        break;
    case SQLITE_BLOB:
        if (str_in_list("argv,env", ',', name))
            add_words(out, q, column);
        else
            add_hex(out, q, column);
        break;
    }
}

static bool is_left_out(sqlite3_stmt *q, int column,
                        const struct store_export_options *options)
{
    const char *name = sqlite3_column_name(q, column);

    /* Sums of texts are the store's own. */
    return (!options->secrets && strcmp(name, "env") == 0) ||
           str_in_list("detail_sum,alternatives_sum,data_sum", ',', name);
}

static void write_json(sqlite3_stmt *q, const struct store_export_options *options,
                       struct str *line)
{
    struct json_out out;

    json_out_init(&out, line, false);
    json_out_begin_object(&out);
    for (int i = 0; i < sqlite3_column_count(q); i++) {
        if (is_left_out(q, i, options))
            continue;
        json_out_key(&out, sqlite3_column_name(q, i));
        add_value(&out, q, i);
    }
    json_out_end(&out);
    str_add(line, "\n");
}

static void add_cell(struct str *line, const char *text)
{
    if (!text[strcspn(text, ",\"\r\n")]) {
        str_add(line, text);
        return;
    }
    str_add(line, "\"");
    for (; *text; text++)
        str_addf(line, *text == '"' ? "\"\"" : "%c", *text);
    str_add(line, "\"");
}

/* A cell holds what JSON would, without the quotes of a string; NULL is empty. */
static void write_cell(sqlite3_stmt *q, int column, struct str *line)
{
    struct str text = {0};
    struct json_out out;

    if (sqlite3_column_type(q, column) == SQLITE_NULL)
        return;
    if (sqlite3_column_type(q, column) == SQLITE_TEXT) {
        add_cell(line, db_text(q, column));
        return;
    }
    json_out_init(&out, &text, false);
    add_value(&out, q, column);
    if (text.length >= 2 && text.text[0] == '"') { /* hex */
        text.text[text.length - 1] = '\0';
        add_cell(line, text.text + 1);
    } else {
        add_cell(line, str_text(&text));
    }
    str_fini(&text);
}

static void write_csv(sqlite3_stmt *q, const struct store_export_options *options,
                      bool titles, struct str *line)
{
    const char *separator = "";

    for (int i = 0; i < sqlite3_column_count(q); i++) {
        if (is_left_out(q, i, options))
            continue;
        str_add(line, separator);
        separator = ",";
        if (titles)
            add_cell(line, sqlite3_column_name(q, i));
        else
            write_cell(q, i, line);
    }
    str_add(line, "\n");
}

static sqlite3_stmt *select_table(struct db *db, const char *table, struct err *err)
{
    struct str sql = {0};
    sqlite3_stmt *q = NULL;
    size_t i = 0;

    while (i < EXPORT_COUNT && strcmp(exports[i].table, table) != 0)
        i++;
    if (i == EXPORT_COUNT) {
        for (i = 0; i < EXPORT_COUNT; i++)
            str_addf(&sql, "%s%s", i ? ", " : "", exports[i].table);
        err_set(err, ERR_NOT_FOUND, "a store has no table %s; there are %s", table,
                str_text(&sql));
    } else {
        str_addf(&sql, "SELECT %s FROM %s ORDER BY %s",
                 exports[i].columns ? exports[i].columns : "*", exports[i].table,
                 exports[i].order);
        q = db_query(db, str_text(&sql), err);
    }
    str_fini(&sql);
    return q;
}

static int write_rows(struct db *db, sqlite3_stmt *q,
                      const struct store_export_options *options, FILE *out,
                      uint64_t *rows, struct err *err)
{
    struct str line = {0};
    int rc = 0, more;

    if (options->format == STORE_CSV)
        write_csv(q, options, true, &line);
    while ((more = db_next(db, q, err)) > 0) {
        ++*rows;
        if (options->format == STORE_CSV)
            write_csv(q, options, false, &line);
        else
            write_json(q, options, &line);
        if (fwrite(str_text(&line), 1, line.length, out) != line.length)
            break;
        str_clear(&line);
    }
    if (more < 0)
        rc = -1;
    else if (fwrite(str_text(&line), 1, line.length, out) != line.length ||
             fflush(out) != 0)
        rc = err_sys(err, "cannot write the export");
    str_fini(&line);
    return rc;
}

int store_export(const char *path, const struct store_export_options *options, FILE *out,
                 uint64_t *rows, struct err *err)
{
    struct store_reader *reader;
    sqlite3_stmt *q;
    uint64_t written = 0;
    int rc = -1;

    if (store_reader_open(&reader, path, err) < 0)
        return -1;
    q = select_table(reader->db, options->table, err);
    if (q)
        rc = write_rows(reader->db, q, options, out, &written, err);
    store_reader_close(reader);
    if (rc == 0)
        *rows = written;
    return rc;
}
