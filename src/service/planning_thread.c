/* planning_thread.c - service/rounds.c hands over a round or a lesson and gets it back on
 * the reactor's thread, to which the end of the work is posted */
#include "service/planning_thread.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A tenth of the share of a thread that is not nice. */
#define PLANNING_NICE 10

struct planning_thread {
    struct reactor *reactor;
    planning_thread_done *done;
    void *ctx;
    pthread_t thread;
    bool out;                  /* the reactor's thread alone: handed over, not yet back */
    struct planning_task task; /* the thread's own while it is out */
    pthread_mutex_t lock;      /* guards the rest */
    pthread_cond_t some;
    bool given, ending;
};

/* On the reactor's thread.  What is told may hand over the next task. */
static void worked(void *ctx)
{
    struct planning_thread *thread = ctx;
    const struct planning_task task = thread->task;

    thread->out = false;
    thread->done(thread->ctx, &task);
}

static void work(struct planning_task *task)
{
    double began_s = clock_wall_s();

    if (task->round)
        round_plan(task->round);
    else
        learned_lesson_study(task->lesson);
    task->work_s = clock_wall_s() - began_s;
}

/* Planning can wait; those who ask the reactor cannot.  On Linux a nice value belongs to
 * a thread.  Without it things are slower, not wrong. */
static void yield_to_others(void)
{
    if (setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), PLANNING_NICE) < 0)
        return;
}

static void *run(void *ctx)
{
    struct planning_thread *thread = ctx;
    bool ending = false;

    pthread_setname_np(pthread_self(), "planning");
    yield_to_others();
    while (!ending) {
        bool given;

        pthread_mutex_lock(&thread->lock);
        while (!thread->given && !thread->ending)
            pthread_cond_wait(&thread->some, &thread->lock);
        given = thread->given;
        ending = thread->ending;
        thread->given = false;
        pthread_mutex_unlock(&thread->lock);
        if (given && !ending)
            work(&thread->task);
        if (given)
            reactor_post(thread->reactor, worked, thread);
    }
    return NULL;
}

struct planning_thread *planning_thread_create(struct reactor *reactor,
                                               planning_thread_done *done, void *ctx,
                                               struct err *err)
{
    struct planning_thread *thread = mem_new(struct planning_thread);

    thread->reactor = reactor;
    thread->done = done;
    thread->ctx = ctx;
    pthread_mutex_init(&thread->lock, NULL);
    pthread_cond_init(&thread->some, NULL);
    if (thread_start(&thread->thread, run, thread) == 0)
        return thread;
    err_set(err, ERR_SYSTEM, "cannot start the threads of planning");
    free(thread);
    return NULL;
}

void planning_thread_destroy(struct planning_thread *thread)
{
    if (!thread)
        return;
    pthread_mutex_lock(&thread->lock);
    thread->ending = true;
    pthread_cond_signal(&thread->some);
    pthread_mutex_unlock(&thread->lock);
    pthread_join(thread->thread, NULL);
    while (thread->out) /* it is posted: the reactor is turned until it is told */
        reactor_step(thread->reactor, 0.01);
    pthread_mutex_destroy(&thread->lock);
    pthread_cond_destroy(&thread->some);
    free(thread);
}

void planning_thread_hand_over(struct planning_thread *thread, struct round *round,
                               struct learned_lesson *lesson)
{
    assert(!thread->out);
    thread->out = true;
    thread->task = (struct planning_task){.round = round, .lesson = lesson};
    pthread_mutex_lock(&thread->lock);
    thread->given = true;
    pthread_cond_signal(&thread->some);
    pthread_mutex_unlock(&thread->lock);
}
