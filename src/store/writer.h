/* writer.h - the one thread that writes
 *
 * Internal to the store.  In turn it commits all durable batches that wait as one synced
 * transaction, then the relaxed ones that are due, then does one step of upkeep, and
 * empties the log when that delays nobody.  A batch that the schema refuses is undone
 * alone; when the disk refuses, durable batches fail at once, and relaxed ones wait until
 * it is well again or their queue is full. */
#ifndef CORGI_STORE_WRITER_H
#define CORGI_STORE_WRITER_H

#include "store/db.h"
#include "store/store.h"

struct writer;

/* A step of a long task, in a transaction of its own: 1 more to do, 0 finished, -1. */
typedef int (*writer_step)(void *task, struct db *db, struct err *err);

/* The writer uses db, which stays the caller's, until writer_stop(). */
struct writer *writer_start(struct db *db, const struct store_options *options,
                            struct err *err);
void writer_stop(struct writer *writer); /* NULL is fine; writes all that waits */

/* On success the batch is the writer's. */
int writer_hand(struct writer *writer, struct store_batch *batch, enum store_class how,
                store_done done, void *ctx, bool direct, struct err *err);
void writer_flush(struct writer *writer);

/* One task at a time, ERR_BUSY else.  task is freed after its last step, and done called
 * as for a batch. */
int writer_upkeep(struct writer *writer, writer_step step, void *task, store_done done,
                  void *ctx, struct err *err);

void writer_stats(struct writer *writer, struct store_stats *stats);

#endif
