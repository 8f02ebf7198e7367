/* planning_thread.c - see planning_thread.h
 *
 * service/rounds.c hands over a round or a lesson and gets it back on the reactor. */
#include "service/planning_thread.h"

#include "base/clock.h"
#include "base/mem.h"
#include "http/workers.h"

#include <stdlib.h>

#define TASKS_MOST 4

struct planning_thread {
    struct workers *workers;
};

struct planning_task { /* one of the two; the reactor's thread does not touch it */
    struct round *round;
    planning_thread_planned *planned;
    struct lesson *lesson;
    planning_thread_studied *studied;
    void *ctx;
    double asked_s;
    struct planning_thread_timing timing;
};

struct planning_thread *planning_thread_create(struct reactor *reactor, struct err *err)
{
    struct planning_thread *thread = mem_new(struct planning_thread);

    thread->workers = workers_create(reactor, "planning", 1, TASKS_MOST, err);
    if (thread->workers)
        return thread;
    free(thread);
    return NULL;
}

void planning_thread_destroy(struct planning_thread *thread)
{
    if (!thread)
        return;
    workers_destroy(thread->workers);
    free(thread);
}

/* On the thread. */
static void work(void *ctx)
{
    struct planning_task *task = ctx;
    double began_s = clock_wall_s();

    task->timing.waited_s = began_s - task->asked_s;
    if (task->round)
        round_plan(task->round);
    else
        lesson_study(task->lesson);
    task->timing.work_s = clock_wall_s() - began_s;
}

/* On the reactor's thread. */
static void worked(void *ctx)
{
    struct planning_task *task = ctx;

    if (task->round)
        task->planned(task->ctx, task->round, &task->timing);
    else
        task->studied(task->ctx, task->lesson, &task->timing);
    free(task);
}

static int hand_over(struct planning_thread *thread, const struct planning_task *what,
                     struct err *err)
{
    struct planning_task *task = mem_dup(what, 1, sizeof(*what));

    task->asked_s = clock_wall_s();
    if (workers_run(thread->workers, work, worked, task, err) == 0)
        return 0;
    free(task);
    return -1;
}

int planning_thread_plan(struct planning_thread *thread, struct round *round,
                         planning_thread_planned *done, void *ctx, struct err *err)
{
    struct planning_task task = {.round = round, .planned = done, .ctx = ctx};

    return hand_over(thread, &task, err);
}

int planning_thread_study(struct planning_thread *thread, struct lesson *lesson,
                          planning_thread_studied *done, void *ctx, struct err *err)
{
    struct planning_task task = {.lesson = lesson, .studied = done, .ctx = ctx};

    return hand_over(thread, &task, err);
}
