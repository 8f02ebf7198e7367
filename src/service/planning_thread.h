/* planning_thread.h - what takes longer than a reply may wait: the middle of a round, and
 * lessons
 *
 * The loop's own thread takes a snapshot (loop_round_begin) or copies what is fitted
 * (loop_lesson_begin); this thread plans or studies, and the loop's thread applies what
 * came of it.  The thread reads the loop's one model, which learns nothing while a round
 * is out, and changes nothing but what it was given.  One task is out at a time. */
#pragma once

#include "http/reactor.h"
#include "loop/loop.h"

struct planning_thread;

struct planning_task {
    struct round *round; /* one of the two */
    struct learned_lesson *lesson;
    double work_s; /* how long the thread worked at it */
};

/* done(ctx) hears of the end of each task, on the reactor's thread, and may hand over the
 * next one. */
typedef void planning_thread_done(void *ctx, const struct planning_task *task);
struct planning_thread *planning_thread_create(struct reactor *reactor,
                                               planning_thread_done *done, void *ctx,
                                               struct err *err);
/* Waits for what is under way; done() is called and must hand nothing over. */
void planning_thread_destroy(struct planning_thread *thread); /* NULL is fine */

void planning_thread_hand_over(struct planning_thread *thread, struct round *round,
                               struct learned_lesson *lesson);
