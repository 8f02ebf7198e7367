/* batch.h - rows on their way to the writer: statements with copies of their values
 *
 * Internal to the store.  A table's file says
 *
 *     batch_statement(batch, "INSERT INTO events VALUES (?, ?, ...)", NULL);
 *     BATCH(batch, DB(event->id), DB(event->at_s), ...);
 *
 * and the writer binds them in this order. */
#ifndef CORGI_STORE_BATCH_H
#define CORGI_STORE_BATCH_H

#include "store/db.h"
#include "store/store.h"

/* A statement of constant text.  missing: what to say (ERR_NOT_FOUND) when it changes no
 * row; NULL: that is fine. */
void batch_statement(struct store_batch *batch, const char *sql, const char *missing);
/* Copies of values for the newest statement, in order. */
#define BATCH(batch, ...)                                                                \
    batch_values(batch, (const struct db_value[]){__VA_ARGS__},                          \
                 sizeof((const struct db_value[]){__VA_ARGS__}) /                        \
                     sizeof(struct db_value))
void batch_values(struct store_batch *batch, const struct db_value *values, size_t count);

/* Words up to the NULL as one value, each with a NUL behind it; NULL: NULL. */
void batch_words(struct store_batch *batch, const char *const *words);

/* Run all statements, inside a transaction that the caller undoes on failure. */
int batch_apply(const struct store_batch *batch, struct db *db, struct err *err);

#endif
