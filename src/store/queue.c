/* queue.c - batches between the threads that hand them in (store.c) and the writer */
#include "store/queue.h"

#include "base/mem.h"

#include <time.h>

void queue_init(struct queue *queue, size_t max_rows, size_t max_bytes)
{
    pthread_condattr_t attributes;

    *queue = (struct queue){.max_rows = max_rows, .max_bytes = max_bytes};
    pthread_mutex_init(&queue->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&queue->changed, &attributes);
    pthread_cond_init(&queue->finished, &attributes);
    pthread_condattr_destroy(&attributes);
}

void queue_fini(struct queue *queue)
{
    pthread_cond_destroy(&queue->finished);
    pthread_cond_destroy(&queue->changed);
    pthread_mutex_destroy(&queue->lock);
}

static void append(struct pending_list *list, struct pending *pending)
{
    pending->next = NULL;
    if (list->last)
        list->last->next = pending;
    else
        list->first = pending;
    list->last = pending;
}

static int refuse(struct queue *queue, struct err *err)
{
    queue->refused++;
    if (queue->closing)
        return err_set(err, ERR_BUSY, "the store is closing");
    return err_set(err, ERR_BUSY,
                   "too much waits to be stored (the limit is %zu rows, %zu MiB): try "
                   "again later",
                   queue->max_rows, queue->max_bytes >> 20);
}

int queue_hand(struct queue *queue, enum store_class how, struct pending *pending,
               struct err *err)
{
    struct queue_class *class = &queue->classes[how];
    size_t rows;
    int rc = 0;

    pthread_mutex_lock(&queue->lock);
    /* A batch that is larger than the queue still goes into an empty one. */
    if (queue->closing ||
        (class->list.first && (class->rows + pending->rows > queue->max_rows ||
                               class->bytes + pending->bytes > queue->max_bytes))) {
        rc = refuse(queue, err);
    } else {
        append(&class->list, pending);
        class->rows += pending->rows;
        class->bytes += pending->bytes;
        class->handed++;
        rows = queue->classes[0].rows + queue->classes[1].rows;
        if (rows > queue->rows_peak)
            queue->rows_peak = rows;
        pthread_cond_signal(&queue->changed);
    }
    pthread_mutex_unlock(&queue->lock);
    return rc;
}

struct pending *queue_take(struct queue *queue, enum store_class how, size_t rows,
                           size_t bytes)
{
    struct queue_class *class = &queue->classes[how];
    struct pending_list taken = {0};
    size_t taken_rows = 0, taken_bytes = 0;

    while (class->list.first && taken_rows < rows && taken_bytes < bytes) {
        struct pending *pending = class->list.first;

        class->list.first = pending->next;
        if (!class->list.first)
            class->list.last = NULL;
        taken_rows += pending->rows;
        taken_bytes += pending->bytes;
        append(&taken, pending);
    }
    class->rows -= taken_rows;
    class->bytes -= taken_bytes;
    return taken.first;
}

void queue_return(struct queue *queue, enum store_class how, struct pending *list)
{
    struct queue_class *class = &queue->classes[how];
    struct pending *last = list;

    for (struct pending *p = list; p; p = p->next) {
        class->rows += p->rows;
        class->bytes += p->bytes;
        last = p;
    }
    last->next = class->list.first;
    class->list.first = list;
    if (!class->list.last)
        class->list.last = last;
}

void queue_flush(struct queue *queue)
{
    uint64_t durable, relaxed, given_up;

    pthread_mutex_lock(&queue->lock);
    durable = queue->classes[STORE_DURABLE].handed;
    relaxed = queue->classes[STORE_RELAXED].handed;
    given_up = queue->given_up;
    queue->flushing++;
    pthread_cond_signal(&queue->changed);
    while (
        queue->classes[STORE_DURABLE].finished < durable ||
        (queue->classes[STORE_RELAXED].finished < relaxed && queue->given_up == given_up))
        pthread_cond_wait(&queue->finished, &queue->lock);
    queue->flushing--;
    pthread_mutex_unlock(&queue->lock);
}
