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
struct db_value db_value_u64(uint64_t number);   /* an id: below 2^63 */
struct db_value db_value_id(uint64_t number);    /* the same; 0 is SQL's NULL */
struct db_value db_value_real(double real);      /* NaN is NULL */
struct db_value db_value_text(const char *text); /* NULL is NULL */
struct db_value db_value_blob(const void *bytes, size_t count);

/* The value of a number, a bool or a text, whatever it is. */
#define DB(x)                                                                            \
    _Generic((x), bool                                                                   \
             : db_value_int, int                                                         \
             : db_value_int, unsigned                                                    \
             : db_value_int, int64_t                                                     \
             : db_value_int, uint64_t                                                    \
             : db_value_u64, double                                                      \
             : db_value_real, char *                                                     \
             : db_value_text, const char *                                               \
             : db_value_text)(x)

/* Bind values to the parameters, from the first on: DB_BIND(q, DB(job), DB(from_s)).
 * Without a query, when db_query() has failed, it does nothing. */
#define DB_BIND(q, ...)                                                                  \
    db_bind(q, (const struct db_value[]){__VA_ARGS__},                                   \
            sizeof((const struct db_value[]){__VA_ARGS__}) / sizeof(struct db_value))
void db_bind(struct db_query *q, const struct db_value *values, size_t count);

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
uint64_t db_u64(const struct db_query *q, int column);
double db_real(const struct db_query *q, int column);      /* NULL: NaN */
const char *db_text(const struct db_query *q, int column); /* NULL: NULL */
const void *db_blob(const struct db_query *q, int column, size_t *count);

/* Where a column goes: DB_TO(x) of a number, a bool or a text. */
struct db_target {
    enum {
        DB_TO_BOOL,
        DB_TO_INT,
        DB_TO_UNSIGNED,
        DB_TO_U64,
        DB_TO_REAL,
        DB_TO_TEXT
    } type;
    void *to;
};

#define DB_TO(x)                                                                         \
    ((struct db_target){_Generic((x), bool                                               \
                                 : DB_TO_BOOL, int                                       \
                                 : DB_TO_INT, unsigned                                   \
                                 : DB_TO_UNSIGNED, uint64_t                              \
                                 : DB_TO_U64, double                                     \
                                 : DB_TO_REAL, const char *                              \
                                 : DB_TO_TEXT),                                          \
                        &(x)})

/* The columns of a row from `first` on: DB_ROW(q, 0, DB_TO(event.id), DB_TO(event.at_s)).
 */
#define DB_ROW(q, first, ...)                                                            \
    db_row(q, first, (const struct db_target[]){__VA_ARGS__},                            \
           sizeof((const struct db_target[]){__VA_ARGS__}) / sizeof(struct db_target))
void db_row(const struct db_query *q, int first, const struct db_target *targets,
            size_t count);

/* Index of a word in a list that ends with NULL; 0, the first, when it is not there (the
 * tables let no other word in). */
int db_word(const char *const *words, const char *word);

/* Pages in the write-ahead log after the last commit of this connection. */
int db_log_pages(const struct db *db);

/* Copy finished pages of the log into the database file; with `empty` wait for readers
 * and cut the log to nothing.  *pages gets what the log holds. */
int db_checkpoint(struct db *db, bool empty, int *pages, struct err *err);

/* Copy all of the database, as it is now, into a new file. */
int db_copy(struct db *db, const char *to, struct err *err);

#endif
