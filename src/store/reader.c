/* reader.c - a connection that only reads: handlers of GET and the daemon's start ask it
 * for rows, tools use it beside a daemon */
#include "store/store_private.h"

#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* No answer is longer; callers page. */
#define MOST_ROWS 1000000
#define NO_END    1e300

int store_reader_open(struct store_reader **opened, const char *path, struct err *err)
{
    return reader_open(opened, path, NULL, err);
}

int reader_open(struct store_reader **opened, const char *path, const char *vfs,
                struct err *err)
{
    struct store_reader *reader;
    struct db *db;

    if (db_open(&db, path, DB_READ, vfs, err) < 0)
        return -1;
    if (db_exec(db, "PRAGMA query_only = ON", err) < 0 ||
        migrations_examine(db, err) < 0) {
        db_close(db);
        return -1;
    }
    reader = mem_new(struct store_reader);
    reader->db = db;
    *opened = reader;
    return 0;
}

void store_reader_close(struct store_reader *reader)
{
    if (!reader)
        return;
    db_close(reader->db);
    free(reader);
}

const char store_damaged[] = "{\"damaged\":true}";

/* ---- one row ----------------------------------------------------------------------- */

/* The number of a word; 0, the first, when it is not there (the tables let no other word
 * in). */
static int number_of(const char *const *words, const char *word)
{
    if (!word)
        return -1;
    for (int i = 0; words[i]; i++)
        if (strcmp(words[i], word) == 0)
            return i;
    return 0;
}

static void take_value(sqlite3_stmt *q, int i, const struct row_column *c, void *to)
{
    const char *text;
    int word;

    switch (c->kind) {
    case ROW_BOOL:
        *(bool *)to = sqlite3_column_int64(q, i) != 0;
        break;
    case ROW_INT:
        *(int *)to = (int)sqlite3_column_int64(q, i);
        break;
    case ROW_UNSIGNED:
        *(unsigned *)to = (unsigned)sqlite3_column_int64(q, i);
        break;
    case ROW_U64:
    case ROW_ID:
        *(uint64_t *)to = (uint64_t)sqlite3_column_int64(q, i);
        break;
    case ROW_REAL:
    case ROW_POSITIVE:
        *(double *)to =
            sqlite3_column_type(q, i) == SQLITE_NULL ? NAN : sqlite3_column_double(q, i);
        break;
    case ROW_TEXT:
        *(const char **)to = db_text(q, i);
        break;
    case ROW_SUM:
        text = *(const char **)to;
        if (text && sqlite3_column_type(q, i) != SQLITE_NULL &&
            sqlite3_column_int64(q, i) != db_text_sum(text)) {
            log_error("store_text_damaged", LOG_STR("column", c->name),
                      LOG_I64("row", sqlite3_column_int64(q, 0)));
            *(const char **)to = store_damaged;
        }
        break;
    case ROW_CHARS:
        str_copy(to, c->size, db_text(q, i));
        break;
    case ROW_WORD:
        word = number_of(c->words, db_text(q, i));
        memcpy(to, &word, sizeof(word));
        break;
    case ROW_WORDS:
        *(const char ***)to = db_words(q, i);
        break;
    case ROW_DIGEST:
        if ((size_t)sqlite3_column_bytes(q, i) == c->size)
            memcpy(to, sqlite3_column_blob(q, i), c->size);
        break;
    case ROW_BYTES:
        *(struct row_bytes *)to = (struct row_bytes){sqlite3_column_blob(q, i),
                                                     (size_t)sqlite3_column_bytes(q, i)};
        break;
    }
}

static void take_row(sqlite3_stmt *q, const struct row_table *t, char *row)
{
    size_t offset;

    memset(row, 0, t->size);
    for (size_t i = 0; i < row_count(t); i++) {
        const struct row_column *c = row_column(t, i, &offset);

        take_value(q, (int)i, c, row + offset);
    }
}

static void free_lists(const struct row_table *t, char *row)
{
    size_t offset;

    for (size_t i = 0; i < row_count(t); i++)
        if (row_column(t, i, &offset)->kind == ROW_WORDS)
            free(*(void **)(row + offset));
}

/* ---- which rows -------------------------------------------------------------------- */

/* The query whose text ends so; its beginning is made when it comes the first time. */
static sqlite3_stmt *query_ending(struct db *db, const struct row_table *t,
                                  const char *end, struct err *err)
{
    uint64_t key = rng_mix((uintptr_t)t, hash_text(end));
    sqlite3_stmt *q = db_known(db, key);
    struct str sql = {0};
    size_t offset;

    if (q)
        return q;
    for (size_t i = 0; !t->select && i < row_count(t); i++)
        str_addf(&sql, "%s%s", i ? ", " : "SELECT ", row_column(t, i, &offset)->name);
    if (t->select)
        str_add(&sql, t->select);
    else
        str_addf(&sql, " FROM %s WHERE TRUE", t->name);
    str_add(&sql, end);
    q = db_prepare(db, key, str_text(&sql), err);
    str_fini(&sql);
    return q;
}

static void add_states(struct str *sql, unsigned states)
{
    const char *separator = " AND state IN (";

    for (int i = 0; row_states[i]; i++) {
        if (!(states & 1u << i))
            continue;
        str_addf(sql, "%s'%s'", separator, row_states[i]);
        separator = ", ";
    }
    str_add(sql, ")");
}

static struct db_value id_value(uint64_t id)
{
    return db_value_int(id <= INT64_MAX ? (int64_t)id : INT64_MAX);
}

/* The query has the terms that are asked for and no others, so that their indices can
 * serve.  A term that the table's own SELECT has is bound, not added. */
static sqlite3_stmt *filtered(struct store_reader *reader, const struct row_table *t,
                              const struct store_filter *f, struct err *err)
{
    static const unsigned all = (1u << (JOB_CANCELLED + 1)) - 1;
    const char *id = t->id ? t->id : "id", *time = t->time ? t->time : "at_s";
    int limit = f->limit > 0 ? f->limit : t->limit;
    const struct {
        const char *name, *column, *compare;
        bool asked;
        struct db_value value;
    } terms[] = {
        {":id", id, "=", f->id > 0, id_value(f->id)},
        {":before", id, "<", f->before_id > 0, id_value(f->before_id)},
        {":after", id, ">", f->after_id > 0, id_value(f->after_id)},
        {":job", "job", "=", f->job > 0, id_value(f->job)},
        {":user", "user", "=", f->user, db_value_text(f->user)},
        {":name", "name", "=", f->name, db_value_text(f->name)},
        {":key", "key", "=", f->key, db_value_text(f->key)},
        {":device", "device", "=", f->device, db_value_text(f->device)},
        {":from", time, ">=", f->from_s > 0, db_value_real(f->from_s)},
        {":to", time, "<=", f->to_s > 0, db_value_real(f->to_s > 0 ? f->to_s : NO_END)},
    };
    struct db_value most = db_value_int(limit < MOST_ROWS ? limit : MOST_ROWS);
    struct str end = {0};
    sqlite3_stmt *q;

    for (size_t i = 0; i < sizeof(terms) / sizeof(terms[0]); i++)
        if ((terms[i].asked || (t->needs && strcmp(t->needs, terms[i].name) == 0)) &&
            !(t->select && strstr(t->select, terms[i].name)))
            str_addf(&end, " AND %s %s %s", terms[i].column, terms[i].compare,
                     terms[i].name);
    if ((f->states & all) != 0)
        add_states(&end, f->states);
    str_add(&end, t->tail);
    if (limit > 0)
        str_add(&end, " LIMIT :limit");
    q = query_ending(reader->db, t, str_text(&end), err);
    str_fini(&end);
    if (!q)
        return NULL;
    for (size_t i = 0; i < sizeof(terms) / sizeof(terms[0]); i++)
        db_bind_named(q, terms[i].name, &terms[i].value);
    db_bind_named(q, ":limit", &most);
    return q;
}

int store_read(struct store_reader *reader, enum store_table table,
               const struct store_filter *filter, store_row *row, void *ctx,
               struct err *err)
{
    static const struct store_filter any;
    const struct row_table *t = &row_tables[table];
    sqlite3_stmt *q = filtered(reader, t, filter ? filter : &any, err);
    char *space;
    int rows = 0, rc, stop = 0;

    if (!q)
        return -1;
    space = mem_zeroed(1, t->size);
    while (!stop && (rc = db_next(reader->db, q, err)) > 0) {
        rows++;
        take_row(q, t, space);
        stop = row(ctx, space);
        free_lists(t, space);
    }
    free(space);
    db_reset(q);
    return rc < 0 ? -1 : rows;
}

int store_read_event_span(struct store_reader *reader, uint64_t *oldest, uint64_t *newest,
                          struct err *err)
{
    /* Two seeks; min() and max() in one SELECT would read the whole table. */
    return db_number(reader->db, "SELECT ifnull((SELECT min(id) FROM events), 0)",
                     (int64_t *)oldest, err) < 0 ||
                   db_number(reader->db, "SELECT ifnull((SELECT max(id) FROM events), 0)",
                             (int64_t *)newest, err) < 0
               ? -1
               : 0;
}

/* ---- a job of its own -------------------------------------------------------------- */

/* A copy is one block: the struct, lists of words, then all text. */
struct packer {
    const char **words; /* where the next list goes */
    char *text;         /* where the next text goes; NULL: only measure */
    size_t pointers, bytes;
};

static const char *pack_text(struct packer *to, const char *text)
{
    size_t size = text ? strlen(text) + 1 : 0;
    char *copy = to->text;

    to->bytes += size;
    if (!text || !copy)
        return text;
    memcpy(copy, text, size);
    to->text += size;
    return copy;
}

static const char *const *pack_words(struct packer *to, const char *const *words)
{
    const char **copy = to->words;
    size_t count = 0;

    for (; words && words[count]; count++) {
        const char *word = pack_text(to, words[count]);

        if (copy)
            copy[count] = word;
    }
    to->pointers += words ? count + 1 : 0;
    if (!words || !copy)
        return words;
    to->words += count + 1;
    return copy;
}

/* Texts and lists of the row, which go where `to` says. */
static void pack(struct packer *to, const struct row_table *t, char *row)
{
    size_t offset;

    for (size_t i = 0; i < row_count(t); i++) {
        const struct row_column *c = row_column(t, i, &offset);

        if (c->kind == ROW_TEXT)
            *(const char **)(row + offset) =
                pack_text(to, *(const char **)(row + offset));
        else if (c->kind == ROW_WORDS)
            *(const char *const **)(row + offset) =
                pack_words(to, *(const char *const **)(row + offset));
    }
}

struct store_job *store_job_dup(const struct store_job *job)
{
    struct store_job copy = *job, *block;
    struct packer to = {0};

    pack(&to, &row_tables[STORE_JOBS], (char *)&copy);
    block = mem_zeroed(1, sizeof(*block) + to.pointers * sizeof(char *) + to.bytes);
    to.words = (const char **)(block + 1);
    to.text = (char *)(to.words + to.pointers);
    *block = copy;
    pack(&to, &row_tables[STORE_JOBS], (char *)block);
    return block;
}

void store_job_destroy(struct store_job *job)
{
    free(job);
}

static int keep_job(void *ctx, const void *job)
{
    *(struct store_job **)ctx = store_job_dup(job);
    return 1;
}

int store_read_job(struct store_reader *reader, uint64_t id, struct store_job **job,
                   struct err *err)
{
    struct store_filter filter = {.id = id};
    int rows = id > 0 ? store_read(reader, STORE_JOBS, &filter, keep_job, job, err) : 0;

    if (rows == 0)
        return err_set(err, ERR_NOT_FOUND, "there is no job %llu",
                       (unsigned long long)id);
    return rows < 0 ? -1 : 0;
}

int store_find_job(struct store_reader *reader, const char *user, const char *key,
                   struct store_job **job, struct err *err)
{
    struct store_filter filter = {.user = user, .key = key};
    int rows = store_read(reader, STORE_JOBS, &filter, keep_job, job, err);

    if (rows == 0)
        return err_set(err, ERR_NOT_FOUND, "%s has submitted no job with this key", user);
    return rows < 0 ? -1 : 0;
}
