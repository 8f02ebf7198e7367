/* planning_thread.h - what takes longer than a reply may wait: the middle of a round, and
 * lessons
 *
 * The loop's own thread takes a snapshot (loop_round_begin) or copies what is fitted
 * (loop_lesson_begin); this thread plans or studies, and the loop's thread applies what
 * came of it.  The thread reads the loop's one model, which learns nothing while a round
 * is out, and changes nothing but what it was given.  One round or lesson is out at a
 * time. */
#ifndef CORGI_SERVICE_PLANNING_THREAD_H
#define CORGI_SERVICE_PLANNING_THREAD_H

#include "http/reactor.h"
#include "loop/loop.h"

struct planning_thread;

struct planning_thread *planning_thread_create(struct reactor *reactor, struct err *err);
/* Waits for what is under way; its done() is called and must hand nothing over. */
void planning_thread_destroy(struct planning_thread *thread); /* NULL is fine */

struct planning_thread_timing {
    double work_s;
    double waited_s; /* for the thread */
};

/* Plan the round, then done(ctx) on the reactor's thread. */
typedef void planning_thread_planned(void *ctx, struct round *round,
                                     const struct planning_thread_timing *timing);
void planning_thread_plan(struct planning_thread *thread, struct round *round,
                          planning_thread_planned *done, void *ctx);

/* Study the lesson, likewise. */
typedef void planning_thread_studied(void *ctx, struct learned_lesson *lesson,
                                     const struct planning_thread_timing *timing);
void planning_thread_study(struct planning_thread *thread, struct learned_lesson *lesson,
                           planning_thread_studied *done, void *ctx);

#endif
