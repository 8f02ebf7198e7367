/* export.c - `corgi store export`: a table as JSON lines or CSV */
#include "store/store_private.h"

#include "base/json_out.h"
#include "base/str.h"

#include <string.h>

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

/* ---- values ------------------------------------------------------------------------ */

static bool is_named(const char *name, const char *const *names)
{
    for (; *names; names++)
        if (strcmp(*names, name) == 0)
            return true;
    return false;
}

static bool is_words(const char *name)
{
    static const char *const names[] = {"argv", "env", NULL};

    return is_named(name, names);
}

/* Columns whose text is JSON already; the schema has checked it. */
static bool is_json(const char *name)
{
    static const char *const names[] = {"extra",        "progress_extra", "data",
                                        "alternatives", "detail",         NULL};

    return is_named(name, names);
}

static void add_words(struct json_out *out, const char *bytes, size_t count)
{
    json_out_begin_array(out);
    for (size_t at = 0; at < count; at += strnlen(bytes + at, count - at) + 1) {
        struct str word = {0};

        str_add_bytes(&word, bytes + at, strnlen(bytes + at, count - at));
        json_out_string(out, str_text(&word));
        str_fini(&word);
    }
    json_out_end(out);
}

static void add_hex(struct json_out *out, const unsigned char *bytes, size_t count)
{
    struct str hex = {0};

    for (size_t i = 0; i < count; i++)
        str_addf(&hex, "%02x", bytes[i]);
    json_out_string(out, str_text(&hex));
    str_fini(&hex);
}

static void add_value(struct json_out *out, struct db_query *q, int column)
{
    const char *name = db_column_name(q, column);
    size_t count;
    const void *bytes;

    switch (db_type(q, column)) {
    case DB_NULL:
        json_out_null(out);
        break;
    case DB_INT:
        json_out_int(out, db_int(q, column));
        break;
    case DB_REAL:
        json_out_number(out, db_real(q, column));
        break;
    case DB_TEXT:
        if (is_json(name))
            json_out_raw(out, db_text(q, column));
        else
            json_out_string(out, db_text(q, column));
        break;
    case DB_BLOB:
        bytes = db_blob(q, column, &count);
        if (is_words(name))
            add_words(out, bytes, count);
        else
            add_hex(out, bytes, count);
        break;
    }
}

/* ---- rows -------------------------------------------------------------------------- */

static bool is_left_out(struct db_query *q, int column,
                        const struct store_export_options *options)
{
    return !options->secrets && strcmp(db_column_name(q, column), "env") == 0;
}

static void write_json(struct db_query *q, const struct store_export_options *options,
                       struct str *line)
{
    struct json_out out;

    json_out_init(&out, line, false);
    json_out_begin_object(&out);
    for (int i = 0; i < db_column_count(q); i++) {
        if (is_left_out(q, i, options))
            continue;
        json_out_key(&out, db_column_name(q, i));
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
static void write_cell(struct db_query *q, int column, struct str *line)
{
    struct str text = {0};
    struct json_out out;

    if (db_type(q, column) == DB_NULL)
        return;
    if (db_type(q, column) == DB_TEXT) {
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

static void write_csv(struct db_query *q, const struct store_export_options *options,
                      bool titles, struct str *line)
{
    const char *separator = "";

    for (int i = 0; i < db_column_count(q); i++) {
        if (is_left_out(q, i, options))
            continue;
        str_add(line, separator);
        separator = ",";
        if (titles)
            add_cell(line, db_column_name(q, i));
        else
            write_cell(q, i, line);
    }
    str_add(line, "\n");
}

/* ---- tables ------------------------------------------------------------------------ */

static struct db_query *select_table(struct db *db, const char *table, struct err *err)
{
    struct str sql = {0};
    struct db_query *q = NULL;
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

static int write_rows(struct db_query *q, const struct store_export_options *options,
                      FILE *out, uint64_t *rows, struct err *err)
{
    struct str line = {0};
    int rc = 0, more;

    if (options->format == STORE_CSV)
        write_csv(q, options, true, &line);
    while ((more = db_next(q, err)) > 0) {
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
    struct db *db = NULL;
    struct db_query *q = NULL;
    uint64_t written = 0;
    int rc = -1;

    if (db_open(&db, path, DB_READ, NULL, err) < 0)
        return -1;
    if (migrations_examine(db, err) == 0)
        q = select_table(db, options->table, err);
    if (q)
        rc = write_rows(q, options, out, &written, err);
    db_close(db);
    if (rc == 0)
        *rows = written;
    return rc;
}
