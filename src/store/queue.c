/* queue.c - batches between the threads that hand them in and the writer, two classes of
 * them, bounded */
#include "store/store_private.h"

#include "base/clock.h"
#include "base/mem.h"

static void append(struct pending_list *list, struct pending *pending)
{
    pending->next = NULL;
    if (list->last)
        list->last->next = pending;
    else
        list->first = pending;
    list->last = pending;
    list->rows += pending->rows;
    list->bytes += pending->bytes;
}

static int refuse(struct store *store, struct err *err)
{
    store->stats.refused++;
    if (store->closing)
        return err_set(err, ERR_BUSY, "the store is closing");
    return err_set(err, ERR_BUSY,
                   "too much waits to be stored (the limit is %zu rows, %zu MiB): try "
                   "again later",
                   store->options.queue_rows, STORE_QUEUE_BYTES >> 20);
}

int store_commit(struct store *store, struct store_batch *batch, enum store_class how,
                 store_done done, void *ctx, struct err *err)
{
    struct pending_list *list = &store->waiting[how];
    struct pending *p = mem_new(struct pending);
    size_t rows;
    int rc = 0;

    p->batch = batch;
    p->done = done;
    p->ctx = ctx;
    p->handed_s = clock_wall_s();
    p->rows = store_batch_rows(batch);
    p->bytes = store_batch_bytes(batch) + sizeof(*p);
    pthread_mutex_lock(&store->lock);
    /* A batch that is larger than the queue still goes into an empty one. */
    if (store->closing ||
        (list->first && (list->rows + p->rows > store->options.queue_rows ||
                         list->bytes + p->bytes > STORE_QUEUE_BYTES))) {
        rc = refuse(store, err);
        free(p);
    } else {
        append(list, p);
        list->handed++;
        rows = store->waiting[0].rows + store->waiting[1].rows;
        if (rows > store->stats.waiting_rows_peak)
            store->stats.waiting_rows_peak = rows;
        pthread_cond_signal(&store->changed);
    }
    pthread_mutex_unlock(&store->lock);
    return rc;
}

struct pending *queue_take(struct store *store, enum store_class how, size_t rows,
                           size_t bytes)
{
    struct pending_list *list = &store->waiting[how];
    struct pending_list taken = {0};

    while (list->first && taken.rows < rows && taken.bytes < bytes) {
        struct pending *pending = list->first;

        list->first = pending->next;
        if (!list->first)
            list->last = NULL;
        append(&taken, pending);
    }
    list->rows -= taken.rows;
    list->bytes -= taken.bytes;
    return taken.first;
}

void queue_return(struct store *store, enum store_class how, struct pending *pending)
{
    struct pending_list *list = &store->waiting[how];
    struct pending *last = pending;

    for (struct pending *p = pending; p; p = p->next) {
        list->rows += p->rows;
        list->bytes += p->bytes;
        last = p;
    }
    last->next = list->first;
    list->first = pending;
    if (!list->last)
        list->last = last;
}

void store_flush(struct store *store)
{
    const struct pending_list *durable = &store->waiting[STORE_DURABLE];
    const struct pending_list *relaxed = &store->waiting[STORE_RELAXED];
    uint64_t durable_handed, relaxed_handed, given_up;

    pthread_mutex_lock(&store->lock);
    durable_handed = durable->handed;
    relaxed_handed = relaxed->handed;
    given_up = store->given_up;
    store->flushing++;
    pthread_cond_signal(&store->changed);
    while (durable->finished < durable_handed ||
           (relaxed->finished < relaxed_handed && store->given_up == given_up))
        pthread_cond_wait(&store->finished, &store->lock);
    store->flushing--;
    pthread_mutex_unlock(&store->lock);
}
