/* db.c - connections to SQLite: the writer thread and each reader have one of their own;
 * what SQLite says becomes a sentence here */
#include "store/db.h"

#include "base/hash.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/vec.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Readers wait this long while another process replays the log after a crash. */
#define BUSY_WAIT_MS 5000

/* So many queries stay prepared: more than there are, but for rare filters. */
#define MOST_KEPT 200

/* ---- errors ------------------------------------------------------------------------ */

static int constraint_error(const struct db *db, struct err *err)
{
    const char *text = sqlite3_errmsg(db->handle);

    switch (sqlite3_extended_errcode(db->handle)) {
    case SQLITE_CONSTRAINT_PRIMARYKEY:
    case SQLITE_CONSTRAINT_ROWID:
    case SQLITE_CONSTRAINT_UNIQUE:
        return err_set(err, ERR_EXISTS, "it is stored already (%s)", text);
    case SQLITE_CONSTRAINT_FOREIGNKEY:
        return err_set(err, ERR_NOT_FOUND, "what it belongs to is not stored (%s)", text);
    default:
        return err_set(err, ERR_INVALID, "the store does not take it (%s)", text);
    }
}

static int io_error(const struct db *db, int code, struct err *err)
{
    int os = sqlite3_system_errno(db->handle); /* 0 when SQLite has not kept it */
    const char *what = "use";

    if (code == SQLITE_IOERR_WRITE || code == SQLITE_IOERR_FSYNC ||
        code == SQLITE_IOERR_TRUNCATE || code == SQLITE_IOERR_DIR_FSYNC)
        what = "write";
    else if (code == SQLITE_IOERR_READ || code == SQLITE_IOERR_SHORT_READ)
        what = "read";
    return err_set(err, ERR_SYSTEM, "cannot %s %s: %s (SQLite error %d%s%s)", what,
                   db->path, sqlite3_errmsg(db->handle), code, os ? ": " : "",
                   os ? strerror(os) : "");
}

/* The state of the connection as a sentence; always -1. */
static int db_error(const struct db *db, struct err *err)
{
    int code = sqlite3_extended_errcode(db->handle);
    const char *text = sqlite3_errmsg(db->handle);

    switch (code & 0xff) {
    case SQLITE_CONSTRAINT:
        return constraint_error(db, err);
    case SQLITE_FULL:
        return err_set(err, ERR_SYSTEM,
                       "the disk that holds %s is full: free some space, the store goes "
                       "on by itself",
                       db->path);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return err_set(err, ERR_BUSY, "%s is locked by another program", db->path);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return err_set(err, ERR_FORMAT, "%s is damaged or not a store (%s)", db->path,
                       text);
    case SQLITE_TOOBIG:
        return err_set(err, ERR_LIMIT, "a value is too large for %s", db->path);
    default:
        return io_error(db, code, err);
    }
}

/* ---- connections ------------------------------------------------------------------- */

/* SQLite would use the umask; environments of jobs may hold secrets. */
static int make_private(const char *path, struct err *err)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

    if (fd < 0)
        return err_sys(err, "cannot open %s", path);
    close(fd);
    return 0;
}

int64_t db_text_sum(const char *text)
{
    return (int64_t)hash_text(text);
}

static void sql_text_sum(sqlite3_context *ctx, int count, sqlite3_value **values)
{
    const char *text = (const char *)sqlite3_value_text(values[0]);

    (void)count;
    if (text)
        sqlite3_result_int64(ctx, db_text_sum(text));
    else
        sqlite3_result_null(ctx);
}

/* Called after each commit.  It stands where SQLite's own checkpoints would: the writer
 * chooses the moment itself. */
static int count_log_pages(void *ctx, sqlite3 *handle, const char *name, int pages)
{
    struct db *db = ctx;

    (void)handle;
    (void)name;
    db->log_pages = pages;
    return SQLITE_OK;
}

int db_open(struct db **opened, const char *path, enum db_mode mode, const char *vfs,
            struct err *err)
{
    int flags = SQLITE_OPEN_NOMUTEX |
                (mode == DB_WRITE ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY);
    struct db *db;

    if (mode == DB_WRITE && make_private(path, err) < 0)
        return -1;
    if (mode == DB_READ && access(path, R_OK) < 0) {
        enum err_code code = errno == ENOENT ? ERR_NOT_FOUND : ERR_SYSTEM;

        return err_set(err, code, "cannot open %s: %s", path, strerror(errno));
    }
    db = mem_new(struct db);
    db->path = mem_strdup(path);
    db->known = map_create();
    if (sqlite3_open_v2(path, &db->handle, flags, vfs) != SQLITE_OK) {
        db_error(db, err);
        db_close(db);
        return -1;
    }
    sqlite3_extended_result_codes(db->handle, 1);
    sqlite3_busy_timeout(db->handle, BUSY_WAIT_MS);
    sqlite3_wal_hook(db->handle, count_log_pages, db);
    sqlite3_create_function(db->handle, "text_sum", 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC,
                            NULL, sql_text_sum, NULL, NULL);
    *opened = db;
    return 0;
}

void db_close(struct db *db)
{
    if (!db)
        return;
    vec_each (struct db_kept, kept, &db->kept)
        sqlite3_finalize(kept->query);
    vec_free(&db->kept);
    map_destroy(db->known);
    sqlite3_close_v2(db->handle);
    free(db->path);
    free(db);
}

int db_exec(struct db *db, const char *sql, struct err *err)
{
    return sqlite3_exec(db->handle, sql, NULL, NULL, NULL) == SQLITE_OK
               ? 0
               : db_error(db, err);
}

int db_number(struct db *db, const char *sql, int64_t *number, struct err *err)
{
    sqlite3_stmt *q = db_query(db, sql, err);
    int rc = q ? db_next(db, q, err) : -1;

    if (rc > 0)
        *number = sqlite3_column_int64(q, 0);
    else if (rc == 0)
        rc = err_set(err, ERR_NOT_FOUND, "%s: no row for \"%s\"", db->path, sql);
    db_reset(q);
    return rc < 0 ? -1 : 0;
}

void db_rollback(struct db *db)
{
    if (!sqlite3_get_autocommit(db->handle))
        sqlite3_exec(db->handle, "ROLLBACK", NULL, NULL, NULL);
}

/* ---- queries ----------------------------------------------------------------------- */

sqlite3_stmt *db_known(struct db *db, uint64_t key)
{
    size_t index;

    return map_get(db->known, key, &index) ? db->kept.items[index].query : NULL;
}

/* Where a new query is kept: of many one that is not in use makes room. */
static size_t room_for_query(struct db *db)
{
    struct db_kept *kept;

    if (db->kept.count < MOST_KEPT) {
        vec_push(&db->kept, (struct db_kept){0});
        return db->kept.count - 1;
    }
    do {
        db->oldest = (db->oldest + 1) % db->kept.count;
        kept = &db->kept.items[db->oldest];
    } while (sqlite3_stmt_busy(kept->query));
    sqlite3_finalize(kept->query);
    map_remove(db->known, kept->key);
    return db->oldest;
}

sqlite3_stmt *db_prepare(struct db *db, uint64_t key, const char *sql, struct err *err)
{
    sqlite3_stmt *query = NULL;
    size_t index;

    if (sqlite3_prepare_v3(db->handle, sql, -1, SQLITE_PREPARE_PERSISTENT, &query,
                           NULL) != SQLITE_OK) {
        db_error(db, err);
        return NULL;
    }
    index = room_for_query(db);
    db->kept.items[index] = (struct db_kept){key, query};
    map_put(db->known, key, index);
    return query;
}

sqlite3_stmt *db_query(struct db *db, const char *sql, struct err *err)
{
    uint64_t key = hash_text(sql);
    sqlite3_stmt *q = db_known(db, key);

    return q ? q : db_prepare(db, key, sql, err);
}

struct db_value db_value_int(int64_t number)
{
    return (struct db_value){.type = SQLITE_INTEGER, .number = number};
}

struct db_value db_value_real(double real)
{
    return (struct db_value){.type = isnan(real) ? SQLITE_NULL : SQLITE_FLOAT,
                             .real = real};
}

struct db_value db_value_text(const char *text)
{
    return (struct db_value){.type = text ? SQLITE_TEXT : SQLITE_NULL,
                             .bytes = text,
                             .count = text ? (int)strlen(text) : 0};
}

void db_bind(sqlite3_stmt *q, int parameter, const struct db_value *value)
{
    switch (value->type) {
    case SQLITE_INTEGER:
        sqlite3_bind_int64(q, parameter, value->number);
        break;
    case SQLITE_FLOAT:
        sqlite3_bind_double(q, parameter, value->real);
        break;
    case SQLITE_TEXT:
        sqlite3_bind_text(q, parameter, value->bytes, value->count, SQLITE_STATIC);
        break;
    case SQLITE_BLOB:
        sqlite3_bind_blob(q, parameter, value->bytes, value->count, SQLITE_STATIC);
        break;
    default:
        sqlite3_bind_null(q, parameter);
        break;
    }
}

void db_bind_named(sqlite3_stmt *q, const char *parameter, const struct db_value *value)
{
    int index = sqlite3_bind_parameter_index(q, parameter);

    if (index > 0)
        db_bind(q, index, value);
}

int db_next(struct db *db, sqlite3_stmt *q, struct err *err)
{
    int code = sqlite3_step(q);

    if (code == SQLITE_ROW)
        return 1;
    return code == SQLITE_DONE ? 0 : db_error(db, err);
}

int db_run(struct db *db, sqlite3_stmt *q, struct err *err)
{
    int rc = db_next(db, q, err);

    db_reset(q);
    return rc < 0 ? -1 : 0;
}

void db_reset(sqlite3_stmt *q)
{
    sqlite3_reset(q);
    if (q)
        sqlite3_clear_bindings(q);
}

const char **db_words(sqlite3_stmt *q, int column)
{
    const char *blob = sqlite3_column_blob(q, column);
    size_t bytes = (size_t)sqlite3_column_bytes(q, column), count = 0, at = 0;
    const char **words;

    if (sqlite3_column_type(q, column) == SQLITE_NULL)
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

/* ---- whole files ------------------------------------------------------------------- */

int db_checkpoint(struct db *db, bool empty, int *pages, struct err *err)
{
    int in_log = 0, copied = 0;
    int code = sqlite3_wal_checkpoint_v2(
        db->handle, NULL, empty ? SQLITE_CHECKPOINT_TRUNCATE : SQLITE_CHECKPOINT_PASSIVE,
        &in_log, &copied);

    /* A reader in the way is no failure: what is left is copied the next time. */
    if (code != SQLITE_OK && (code & 0xff) != SQLITE_BUSY)
        return db_error(db, err);
    *pages = in_log - copied;
    return 0;
}

int db_copy(struct db *db, const char *to, struct err *err)
{
    struct db *copy = NULL;
    sqlite3_backup *backup;
    int code;

    if (db_open(&copy, to, DB_WRITE, NULL, err) < 0)
        return -1;
    backup = sqlite3_backup_init(copy->handle, "main", db->handle, "main");
    if (!backup) {
        db_error(copy, err);
        db_close(copy);
        return -1;
    }
    /* All pages in one step: between steps another program's write would start the copy
     * over again, and a daemon writes all the time. */
    do
        code = sqlite3_backup_step(backup, -1);
    while (code == SQLITE_BUSY || code == SQLITE_LOCKED);
    sqlite3_backup_finish(backup);
    if (code != SQLITE_DONE)
        db_error(copy, err);
    else if (db_exec(copy, "PRAGMA journal_mode = DELETE", err) == 0)
        code = SQLITE_OK; /* one plain file, also where nothing may be written */
    db_close(copy);
    return code == SQLITE_OK ? 0 : -1;
}
