/* db.h - SQLite as the store uses it: a connection, its queries, typed columns
 *
 * The only file that knows SQLite is db.c.  A connection
 * belongs to one thread at a time.  Queries are prepared once a connection and found
 * again by the address of their text, which therefore must be constant.
 *
 *     struct db_query *q = db_query(db, "SELECT name FROM jobs WHERE id = ?1", err);
 *     db_bind_int(q, 1, id);
 *     while ((rc = db_next(q, err)) > 0)
 *         puts(db_text(q, 0));
 *     db_reset(q);
 */
#ifndef CORGI_STORE_DB_H
#define CORGI_STORE_DB_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct db;
struct db_query;

enum db_mode {
    DB_WRITE, /* made when it is not there, readable by its owner only */
    DB_READ,
};

int db_open(struct db **db, const char *path, enum db_mode mode, const char *vfs,
            struct err *err);
void db_close(struct db *db); /* NULL is fine */
const char *db_path(const struct db *db);

/* One or more statements without results. */
int db_exec(struct db *db, const char *sql, struct err *err);
/* The first column of the first row of a one-time query. */
int db_number(struct db *db, const char *sql, int64_t *number, struct err *err);

/* Is a transaction open?  SQLite ends it by itself after some errors. */
bool db_in_transaction(const struct db *db);
void db_rollback(struct db *db);

/* Ready to bind; NULL with err when the text is wrong.  Belongs to the connection. */
struct db_query *db_query(struct db *db, const char *sql, struct err *err);
/* For text made on the spot; the caller ends it. */
struct db_query *db_query_once(struct db *db, const char *sql, struct err *err);
void db_query_destroy(struct db_query *q); /* NULL is fine; only of db_query_once() */

/* Parameters count from 1.  Text and bytes must stay until db_reset(); NULL, and NaN,
 * are SQL's NULL. */
void db_bind_int(struct db_query *q, int index, int64_t value);
void db_bind_real(struct db_query *q, int index, double value);
void db_bind_text(struct db_query *q, int index, const char *text);
void db_bind_blob(struct db_query *q, int index, const void *bytes, size_t count);
void db_bind_null(struct db_query *q, int index);

/* 1: a row, 0: no more, -1: err says what. */
int db_next(struct db_query *q, struct err *err);
/* For statements that give no rows: step and reset. */
int db_run(struct db_query *q, struct err *err);
void db_reset(struct db_query *q);       /* NULL is fine */
int64_t db_changes(const struct db *db); /* rows of the last statement that changed any */

enum db_type { DB_NULL, DB_INT, DB_REAL, DB_TEXT, DB_BLOB };

/* Columns count from 0; borrowed until the next db_next(). */
int db_column_count(const struct db_query *q);
const char *db_column_name(const struct db_query *q, int column);
enum db_type db_type(const struct db_query *q, int column);
int64_t db_int(const struct db_query *q, int column);
uint64_t db_u64(const struct db_query *q, int column);
double db_real(const struct db_query *q, int column);      /* NULL: NaN */
const char *db_text(const struct db_query *q, int column); /* NULL: NULL */
const void *db_blob(const struct db_query *q, int column, size_t *count);

/* Pages in the write-ahead log after the last commit of this connection. */
int db_log_pages(const struct db *db);

/* Copy finished pages of the log into the database file; with `empty` wait for readers
 * and cut the log to nothing.  *pages gets what the log holds. */
int db_checkpoint(struct db *db, bool empty, int *pages, struct err *err);

/* Copy all of the database, as it is now, into a new file. */
int db_copy(struct db *db, const char *to, struct err *err);

#endif
