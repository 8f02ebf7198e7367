/* db.c - SQLite, of which no other file knows
 *
 * The writer thread and each reader have a connection of their own; batch.c and the files
 * of the tables give it statements and values, and get rows. */
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

/* As many queries stay prepared; more are asked with rare filters only. */
#define MOST_KEPT 200

struct db_query {
    struct db *db;
    sqlite3_stmt *statement;
    bool kept;
};

struct db {
    sqlite3 *handle;
    char *path;
    struct map *known; /* key of a text -> index into queries */
    vec_of(struct db_query *) queries;
    int log_pages;
};

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
    *opened = db;
    return 0;
}

static void query_destroy(struct db_query *q)
{
    sqlite3_finalize(q->statement);
    free(q);
}

void db_close(struct db *db)
{
    if (!db)
        return;
    for (size_t i = 0; i < db->queries.count; i++)
        query_destroy(db->queries.items[i]);
    vec_free(&db->queries);
    map_destroy(db->known);
    sqlite3_close_v2(db->handle);
    free(db->path);
    free(db);
}

const char *db_path(const struct db *db)
{
    return db->path;
}

int db_exec(struct db *db, const char *sql, struct err *err)
{
    return sqlite3_exec(db->handle, sql, NULL, NULL, NULL) == SQLITE_OK
               ? 0
               : db_error(db, err);
}

int db_number(struct db *db, const char *sql, int64_t *number, struct err *err)
{
    struct db_query *q = db_query(db, sql, err);
    int rc = q ? db_next(q, err) : -1;

    if (rc > 0)
        *number = db_int(q, 0);
    else if (rc == 0)
        rc = err_set(err, ERR_NOT_FOUND, "%s: no row for \"%s\"", db->path, sql);
    db_reset(q);
    return rc < 0 ? -1 : 0;
}

bool db_in_transaction(const struct db *db)
{
    return !sqlite3_get_autocommit(db->handle);
}

void db_rollback(struct db *db)
{
    if (db_in_transaction(db))
        sqlite3_exec(db->handle, "ROLLBACK", NULL, NULL, NULL);
}

int64_t db_changes(const struct db *db)
{
    return sqlite3_changes64(db->handle);
}

/* ---- queries ----------------------------------------------------------------------- */

struct db_query *db_known(struct db *db, uint64_t key)
{
    size_t index;

    return map_get(db->known, key, &index) ? db->queries.items[index] : NULL;
}

struct db_query *db_prepare(struct db *db, uint64_t key, const char *sql, struct err *err)
{
    struct db_query *q;
    sqlite3_stmt *statement = NULL;

    if (sqlite3_prepare_v3(db->handle, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement,
                           NULL) != SQLITE_OK) {
        db_error(db, err);
        return NULL;
    }
    q = mem_new(struct db_query);
    q->db = db;
    q->statement = statement;
    q->kept = db->queries.count < MOST_KEPT;
    if (q->kept) {
        map_put(db->known, key, db->queries.count);
        vec_push(&db->queries, q);
    }
    return q;
}

struct db_query *db_query(struct db *db, const char *sql, struct err *err)
{
    uint64_t key = hash_text(sql);
    struct db_query *q = db_known(db, key);

    return q ? q : db_prepare(db, key, sql, err);
}

struct db_value db_value_int(int64_t number)
{
    return (struct db_value){.type = DB_INT, .number = number};
}

struct db_value db_value_real(double real)
{
    return (struct db_value){.type = isnan(real) ? DB_NULL : DB_REAL, .real = real};
}

struct db_value db_value_text(const char *text)
{
    return (struct db_value){.type = text ? DB_TEXT : DB_NULL,
                             .bytes = text,
                             .count = text ? strlen(text) : 0};
}

void db_bind(struct db_query *q, int parameter, const struct db_value *value)
{
    switch (value->type) {
    case DB_INT:
        sqlite3_bind_int64(q->statement, parameter, value->number);
        break;
    case DB_REAL:
        sqlite3_bind_double(q->statement, parameter, value->real);
        break;
    case DB_TEXT:
        sqlite3_bind_text(q->statement, parameter, value->bytes, (int)value->count,
                          SQLITE_STATIC);
        break;
    case DB_BLOB:
        if (value->count == 0)
            sqlite3_bind_zeroblob(q->statement, parameter, 0);
        else
            sqlite3_bind_blob64(q->statement, parameter, value->bytes, value->count,
                                SQLITE_STATIC);
        break;
    case DB_NULL:
        sqlite3_bind_null(q->statement, parameter);
        break;
    }
}

void db_bind_named(struct db_query *q, const char *parameter,
                   const struct db_value *value)
{
    int index = sqlite3_bind_parameter_index(q->statement, parameter);

    if (index > 0)
        db_bind(q, index, value);
}

int db_next(struct db_query *q, struct err *err)
{
    int code = sqlite3_step(q->statement);

    if (code == SQLITE_ROW)
        return 1;
    return code == SQLITE_DONE ? 0 : db_error(q->db, err);
}

int db_run(struct db_query *q, struct err *err)
{
    int rc = db_next(q, err);

    db_reset(q);
    return rc < 0 ? -1 : 0;
}

void db_reset(struct db_query *q)
{
    if (!q)
        return;
    if (!q->kept) {
        query_destroy(q);
        return;
    }
    sqlite3_reset(q->statement);
    sqlite3_clear_bindings(q->statement);
}

/* ---- columns ----------------------------------------------------------------------- */

int db_column_count(const struct db_query *q)
{
    return sqlite3_column_count(q->statement);
}

const char *db_column_name(const struct db_query *q, int column)
{
    return sqlite3_column_name(q->statement, column);
}

enum db_type db_type(const struct db_query *q, int column)
{
    switch (sqlite3_column_type(q->statement, column)) {
    case SQLITE_INTEGER:
        return DB_INT;
    case SQLITE_FLOAT:
        return DB_REAL;
    case SQLITE_TEXT:
        return DB_TEXT;
    case SQLITE_BLOB:
        return DB_BLOB;
    default:
        return DB_NULL;
    }
}

int64_t db_int(const struct db_query *q, int column)
{
    return sqlite3_column_int64(q->statement, column);
}

double db_real(const struct db_query *q, int column)
{
    return sqlite3_column_type(q->statement, column) == SQLITE_NULL
               ? NAN
               : sqlite3_column_double(q->statement, column);
}

const char *db_text(const struct db_query *q, int column)
{
    return (const char *)sqlite3_column_text(q->statement, column);
}

const void *db_blob(const struct db_query *q, int column, size_t *count)
{
    const void *bytes = sqlite3_column_blob(q->statement, column);

    *count = (size_t)sqlite3_column_bytes(q->statement, column);
    return bytes;
}

/* ---- whole files ------------------------------------------------------------------- */

int db_log_pages(const struct db *db)
{
    return db->log_pages;
}

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
