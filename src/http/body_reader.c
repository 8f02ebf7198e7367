/* body_reader.c - conn.c hands over large bodies, this thread reads and checks them, and
 * the reactor gives them back to conn.c */
#include "http/body_reader.h"

#include "base/mem.h"
#include "base/thread.h"
#include "base/vec.h"
#include "http/server_private.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Whoever sends a large body can wait; those who ask for little come first. */
#define READER_NICE 5

struct large_body {
    struct request *request;
    char *bytes;
    size_t count;
    bool good;
};

typedef vec_of(struct large_body) large_bodies;

struct body_reader {
    struct reactor *reactor;
    pthread_t thread;
    bool dropping;        /* the reactor's thread alone: nobody wants them any more */
    pthread_mutex_t lock; /* guards the rest */
    pthread_cond_t some;
    large_bodies waiting, done;
    bool posted; /* deliver() will come */
    bool ending;
};

static void deliver(void *ctx)
{
    struct body_reader *reader = ctx;
    large_bodies done;

    pthread_mutex_lock(&reader->lock);
    done = reader->done;
    reader->done = (large_bodies){0};
    reader->posted = false;
    pthread_mutex_unlock(&reader->lock);
    vec_each (struct large_body, body, &done) {
        free(body->bytes);
        if (reader->dropping)
            request_destroy(body->request);
        else
            conn_body_read(body->request, body->good);
    }
    vec_free(&done);
}

/* With the lock held. */
static bool take_first(struct body_reader *reader, struct large_body *body)
{
    if (reader->waiting.count == 0)
        return false;
    *body = reader->waiting.items[0];
    reader->waiting.count--;
    memmove(reader->waiting.items, reader->waiting.items + 1,
            reader->waiting.count * sizeof(*body));
    return true;
}

static void give_back(struct body_reader *reader, struct large_body body)
{
    bool post;

    pthread_mutex_lock(&reader->lock);
    vec_push(&reader->done, body);
    post = !reader->posted;
    reader->posted = true;
    pthread_mutex_unlock(&reader->lock);
    if (post)
        reactor_post(reader->reactor, deliver, reader);
}

/* Without it things are slower, not wrong. */
static void yield_to_others(void)
{
    if (setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), READER_NICE) < 0)
        return;
}

static void *run(void *ctx)
{
    struct body_reader *reader = ctx;

    pthread_setname_np(pthread_self(), "bodies");
    yield_to_others();
    for (;;) {
        struct large_body body;
        bool some;

        pthread_mutex_lock(&reader->lock);
        while (!(some = take_first(reader, &body)) && !reader->ending)
            pthread_cond_wait(&reader->some, &reader->lock);
        pthread_mutex_unlock(&reader->lock);
        if (!some)
            return NULL;
        body.good = request_check_body(body.request, body.bytes, body.count);
        give_back(reader, body);
    }
}

struct body_reader *body_reader_create(struct reactor *reactor)
{
    struct body_reader *reader = mem_new(struct body_reader);

    reader->reactor = reactor;
    pthread_mutex_init(&reader->lock, NULL);
    pthread_cond_init(&reader->some, NULL);
    if (thread_start(&reader->thread, run, reader) == 0)
        return reader;
    free(reader);
    return NULL;
}

void body_reader_destroy(struct body_reader *reader)
{
    bool posted = true;

    if (!reader)
        return;
    reader->dropping = true;
    pthread_mutex_lock(&reader->lock);
    reader->ending = true;
    pthread_cond_signal(&reader->some);
    pthread_mutex_unlock(&reader->lock);
    pthread_join(reader->thread, NULL);
    while (posted) { /* the reactor is turned until all have come back */
        pthread_mutex_lock(&reader->lock);
        posted = reader->posted;
        pthread_mutex_unlock(&reader->lock);
        if (posted)
            reactor_step(reader->reactor, 0.01);
    }
    vec_free(&reader->waiting);
    vec_free(&reader->done);
    pthread_mutex_destroy(&reader->lock);
    pthread_cond_destroy(&reader->some);
    free(reader);
}

void body_reader_hand_over(struct body_reader *reader, struct request *request,
                           const char *bytes, size_t count)
{
    struct large_body body = {
        .request = request, .bytes = mem_dup(bytes, count, 1), .count = count};

    pthread_mutex_lock(&reader->lock);
    vec_push(&reader->waiting, body);
    pthread_cond_signal(&reader->some);
    pthread_mutex_unlock(&reader->lock);
}
