/* db.h - SQLite as the store uses it: connections whose queries stay prepared, and
 * sentences for its errors
 *
 * A connection belongs to one thread at a time.
 *
 *     sqlite3_stmt *q = db_query(db, "SELECT name FROM jobs WHERE id = :id", err);
 *     db_bind_named(q, ":id", &id);
 *     while ((rc = db_next(db, q, err)) > 0)
 *         puts(db_text(q, 0));
 *     db_reset(q);
 */
#pragma once

#include "base/err.h"
#include "base/vec.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

struct db {
    sqlite3 *handle;
    char *path;
    struct map *known; /* key of a text -> index into kept */
    vec_of(struct db_kept {
        uint64_t key;
        sqlite3_stmt *query;
    }) kept;
    size_t oldest; /* of the kept ones, when they are many */
    int log_pages; /* in the write-ahead log after the last commit */
};

enum db_mode {
    DB_WRITE, /* made when it is not there, readable by its owner only */
    DB_READ,
};

int db_open(struct db **db, const char *path, enum db_mode mode, const char *vfs,
            struct err *err);
void db_close(struct db *db); /* NULL is fine */

/* One or more statements without results. */
int db_exec(struct db *db, const char *sql, struct err *err);
/* The first column of the first row. */
int db_number(struct db *db, const char *sql, int64_t *number, struct err *err);

void db_rollback(struct db *db); /* what is open, if anything is */

/* Ready to bind, prepared once a connection and found again by its text; NULL with err
 * when the text is wrong. */
sqlite3_stmt *db_query(struct db *db, const char *sql, struct err *err);
/* The same for a text that is made only once, by a key: NULL when it is not known yet. */
sqlite3_stmt *db_known(struct db *db, uint64_t key);
sqlite3_stmt *db_prepare(struct db *db, uint64_t key, const char *sql, struct err *err);

/* A value on its way into a statement; bytes are borrowed until db_reset(). */
struct db_value {
    int type;  /* SQLITE_INTEGER and so on */
    int count; /* of the bytes of a text or a blob */
    union {
        int64_t number;
        double real;
        const void *bytes;
    };
};

struct db_value db_value_int(int64_t number);
struct db_value db_value_real(double real);      /* NaN is NULL */
struct db_value db_value_text(const char *text); /* NULL is NULL */

/* Parameters count from 1. */
void db_bind(sqlite3_stmt *q, int parameter, const struct db_value *value);
/* One that the text does not have is passed over. */
void db_bind_named(sqlite3_stmt *q, const char *parameter, const struct db_value *value);

/* 1: a row, 0: no more, -1: err says what. */
int db_next(struct db *db, sqlite3_stmt *q, struct err *err);
/* For statements that give no rows: step and reset. */
int db_run(struct db *db, sqlite3_stmt *q, struct err *err);
void db_reset(sqlite3_stmt *q); /* NULL is fine */

/* The sum of a text that the store keeps beside it; in SQL text_sum(TEXT). */
int64_t db_text_sum(const char *text);

static inline const char *db_text(sqlite3_stmt *q, int column)
{
    return (const char *)sqlite3_column_text(q, column);
}

/* Words of a blob, each with a NUL behind it; the list, which ends with NULL, is the
 * caller's to free, the words are borrowed.  NULL for NULL. */
const char **db_words(sqlite3_stmt *q, int column);

/* Copy finished pages of the log into the database file; with `empty` wait for readers
 * and cut the log to nothing.  *pages gets what the log holds. */
int db_checkpoint(struct db *db, bool empty, int *pages, struct err *err);

/* Copy all of the database, as it is now, into a new file. */
int db_copy(struct db *db, const char *to, struct err *err);
