/* batch.h - rows on their way to the writer: statements with copies of their values
 *
 * Internal to the store.  A table's file says
 *
 *     batch_statement(batch, "INSERT INTO events VALUES (?1, ?2, ...)", NULL);
 *     batch_u64(batch, event->id);
 *     batch_real(batch, event->at_s);
 *
 * and the writer binds them in this order. */
#ifndef CORGI_STORE_BATCH_H
#define CORGI_STORE_BATCH_H

#include "store/db.h"
#include "store/store.h"

/* A statement of constant text.  missing: what to say (ERR_NOT_FOUND) when it changes no
 * row; NULL: that is fine. */
void batch_statement(struct store_batch *batch, const char *sql, const char *missing);
/* The values of the newest statement, in order. */
void batch_int(struct store_batch *batch, int64_t value);
void batch_u64(struct store_batch *batch, uint64_t value); /* ids: below 2^63 */
void batch_bool(struct store_batch *batch, bool value);
void batch_real(struct store_batch *batch, double value);     /* NaN: NULL */
void batch_text(struct store_batch *batch, const char *text); /* NULL: NULL */
void batch_text_or(struct store_batch *batch, const char *text, const char *instead);
void batch_blob(struct store_batch *batch, const void *bytes, size_t count);
/* Words up to the NULL, each with a NUL behind it; NULL: NULL. */
void batch_words(struct store_batch *batch, const char *const *words);
void batch_null(struct store_batch *batch);

/* Run all statements, inside a transaction of the caller's; he undoes it on failure. */
int batch_apply(const struct store_batch *batch, struct db *db, struct err *err);

#endif
