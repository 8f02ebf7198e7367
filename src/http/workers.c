/* workers.c - service/ gives slow work to these threads; its end is posted to the reactor
 */
#include "http/workers.h"

#include "base/mem.h"
#include "base/str.h"

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A tenth of the share of a thread that is not nice. */
#define WORKER_NICE 10

struct worker_task {
    struct workers *workers;
    void (*work)(void *ctx);
    void (*done)(void *ctx);
    void *ctx;
    struct worker_task *next;
};

struct workers {
    struct reactor *reactor;
    char name[16];
    size_t max_waiting;
    size_t busy; /* the reactor's thread alone: given and not yet done */
    int thread_count;
    pthread_t *threads;
    pthread_mutex_t lock; /* guards the rest */
    pthread_cond_t some;
    struct worker_task *first, **last;
    size_t waiting;
    bool ending;
};

static void task_done(void *ctx)
{
    struct worker_task *task = ctx;

    task->workers->busy--;
    task->done(task->ctx);
    free(task);
}

static struct worker_task *next_task(struct workers *w)
{
    struct worker_task *task;

    pthread_mutex_lock(&w->lock);
    while (!w->first && !w->ending)
        pthread_cond_wait(&w->some, &w->lock);
    task = w->ending ? NULL : w->first;
    if (task) {
        w->first = task->next;
        if (!w->first)
            w->last = &w->first;
        w->waiting--;
    }
    pthread_mutex_unlock(&w->lock);
    return task;
}

/* What is given to workers can wait; who asks the reactor cannot.  On Linux a nice value
 * belongs to a thread.  Without it things are slower, not wrong. */
static void yield_to_others(void)
{
    if (setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), WORKER_NICE) < 0)
        return;
}

static void *work(void *ctx)
{
    struct workers *w = ctx;
    struct worker_task *task;

    pthread_setname_np(pthread_self(), w->name);
    yield_to_others();
    while ((task = next_task(w)) != NULL) {
        task->work(task->ctx);
        reactor_post(w->reactor, task_done, task);
    }
    return NULL;
}

struct workers *workers_create(struct reactor *r, const char *name, int threads,
                               size_t max_waiting, struct err *err)
{
    struct workers *w = mem_new(struct workers);

    assert(threads > 0);
    w->reactor = r;
    str_copy(w->name, sizeof(w->name), name);
    w->max_waiting = max_waiting;
    w->last = &w->first;
    w->threads = mem_array(pthread_t, (size_t)threads);
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->some, NULL);
    for (; w->thread_count < threads; w->thread_count++) {
        if (pthread_create(&w->threads[w->thread_count], NULL, work, w) != 0) {
            err_set(err, ERR_SYSTEM, "cannot start the threads of %s", name);
            workers_destroy(w);
            return NULL;
        }
    }
    return w;
}

/* Only the reactor knows what it has been posted, so it is turned until all is done. */
static void finish(struct workers *w)
{
    struct worker_task *task;

    while ((task = w->first) != NULL) {
        w->first = task->next;
        task_done(task);
    }
    while (w->busy > 0)
        reactor_step(w->reactor, 0.01);
}

void workers_destroy(struct workers *w)
{
    if (!w)
        return;
    pthread_mutex_lock(&w->lock);
    w->ending = true;
    pthread_cond_broadcast(&w->some);
    pthread_mutex_unlock(&w->lock);
    for (int i = 0; i < w->thread_count; i++)
        pthread_join(w->threads[i], NULL);
    finish(w);
    pthread_mutex_destroy(&w->lock);
    pthread_cond_destroy(&w->some);
    free(w->threads);
    free(w);
}

int workers_run(struct workers *w, void (*run)(void *ctx), void (*done)(void *ctx),
                void *ctx, struct err *err)
{
    struct worker_task *task = mem_new(struct worker_task);
    bool full;

    *task = (struct worker_task){.workers = w, .work = run, .done = done, .ctx = ctx};
    pthread_mutex_lock(&w->lock);
    full = w->ending || w->waiting >= w->max_waiting;
    if (!full) {
        *w->last = task;
        w->last = &task->next;
        w->waiting++;
        pthread_cond_signal(&w->some);
    }
    pthread_mutex_unlock(&w->lock);
    if (full) {
        free(task);
        return err_set(err, ERR_LIMIT, "%s has more to do than it may keep waiting",
                       w->name);
    }
    w->busy++;
    return 0;
}

size_t workers_busy(const struct workers *w)
{
    return w->busy;
}
