/* queue.h - batches that wait for the writer, two classes of them, bounded
 *
 * Internal to the store.  Any thread hands in, the writer alone takes out. */
#ifndef CORGI_STORE_QUEUE_H
#define CORGI_STORE_QUEUE_H

#include "store/store.h"

#include <pthread.h>

struct pending {
    struct pending *next;
    struct store_batch *batch;
    store_done done; /* NULL: nobody waits */
    void *ctx;
    bool direct; /* done() is called on the writer thread, not posted */
    double handed_s;
    size_t rows, bytes;
    struct err err;
};

struct pending_list {
    struct pending *first, *last;
};

struct queue_class {
    struct pending_list list;
    size_t rows, bytes;
    uint64_t handed;   /* batches since the start */
    uint64_t finished; /* of these, stored or given up */
};

struct queue {
    pthread_mutex_t lock;          /* guards all below, and the writer's statistics */
    pthread_cond_t changed;        /* something was handed in, or asked for */
    pthread_cond_t finished;       /* something was written */
    struct queue_class classes[2]; /* by enum store_class */
    size_t max_rows, max_bytes;
    size_t rows_peak;
    uint64_t refused;
    int flushing;      /* callers that wait: relaxed batches are due at once */
    uint64_t given_up; /* rounds in which relaxed batches could not be written */
    bool closing;
};

void queue_init(struct queue *queue, size_t max_rows, size_t max_bytes);
void queue_fini(struct queue *queue);

/* ERR_BUSY when it is full or closing. */
int queue_hand(struct queue *queue, enum store_class how, struct pending *pending,
               struct err *err);

/* With the lock held: the oldest of a class, up to about so many rows and bytes. */
struct pending *queue_take(struct queue *queue, enum store_class how, size_t rows,
                           size_t bytes);
/* With the lock held: put a list that was taken back to the front. */
void queue_return(struct queue *queue, enum store_class how, struct pending *list);

/* Wait until what was handed in so far is finished, or the writer has given up once. */
void queue_flush(struct queue *queue);

#endif
