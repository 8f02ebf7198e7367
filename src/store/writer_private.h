/* writer_private.h - the writer from inside: writer.c decides what is due,
 * writer_commit.c writes it and tells who waits */
#ifndef CORGI_STORE_WRITER_PRIVATE_H
#define CORGI_STORE_WRITER_PRIVATE_H

#include "base/vec.h"
#include "store/queue.h"
#include "store/writer.h"

struct writer {
    struct db *db;
    struct store_options options;
    pthread_t thread;
    struct queue queue;       /* its lock guards stats and upkeep, too */
    struct store_stats stats; /* without what the queue knows */
    struct {
        writer_step step; /* NULL: none under way */
        void *task;
        store_done done;
        void *ctx;
        double due_s;
    } upkeep;
    /* Of the writer thread alone: */
    bool synced; /* SQLite syncs each commit now */
    double retry_s;
    int log_pages_next;
    vec_of(struct store_completion) completions;
};

/* Write a list that was taken from the queue, tell who waits, and free it.  Relaxed
 * batches go back into the queue when the disk fails. */
void writer_commit_durable(struct writer *w, struct pending *list);
void writer_commit_relaxed(struct writer *w, struct pending *list);
/* After a failure: is the disk well again? */
void writer_commit_probe(struct writer *w);
/* Through post(), or by calling done(). */
void writer_commit_deliver(struct writer *w, const struct store_completion *list,
                           size_t count);

#endif
