/* db.h - SQLite as the store uses it: a connection, its queries, typed columns
 *
 * The only file that knows SQLite is db.c.  A connection belongs to one thread at a time.
 *
 *     struct db_query *q = db_query(db, "SELECT name FROM jobs WHERE id = :id", err);
 *     db_bind_named(q, ":id", &id);
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

/* Ready to bind, prepared once a connection and found again by its text; NULL with err
 * when the text is wrong.  db_reset() ends its use. */
struct db_query *db_query(struct db *db, const char *sql, struct err *err);
/* The same for a text that is made only once, by a key: NULL when it is not known yet. */
struct db_query *db_known(struct db *db, uint64_t key);
struct db_query *db_prepare(struct db *db, uint64_t key, const char *sql,
                            struct err *err);

enum db_type { DB_NULL, DB_INT, DB_REAL, DB_TEXT, DB_BLOB };

/* A value on its way into a statement; bytes are borrowed until db_reset(). */
struct db_value {
    enum db_type type;
    int64_t number;
    double real;
    const void *bytes;
    size_t count;
};

struct db_value db_value_int(int64_t number);
struct db_value db_value_real(double real);      /* NaN is NULL */
struct db_value db_value_text(const char *text); /* NULL is NULL */

/* Parameters count from 1; one that the text does not have is passed over. */
void db_bind(struct db_query *q, int parameter, const struct db_value *value);
void db_bind_named(struct db_query *q, const char *parameter,
                   const struct db_value *value);

/* 1: a row, 0: no more, -1: err says what. */
int db_next(struct db_query *q, struct err *err);
/* For statements that give no rows: step and reset. */
int db_run(struct db_query *q, struct err *err);
void db_reset(struct db_query *q);       /* NULL is fine */
int64_t db_changes(const struct db *db); /* rows of the last statement that changed any */

/* Columns count from 0; borrowed until the next db_next(). */
int db_column_count(const struct db_query *q);
const char *db_column_name(const struct db_query *q, int column);
enum db_type db_type(const struct db_query *q, int column);
int64_t db_int(const struct db_query *q, int column);
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
