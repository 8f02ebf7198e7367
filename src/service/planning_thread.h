/* planning_thread.h - planning and learning on a thread of their own
 *
 * Two models learn the same.  One answers on the daemon's thread (quotes, estimates) and
 * takes measurements at once; the other belongs to this thread, which plans with it and
 * adapts it, which may take seconds.  Once adapted the two change places: nobody waits,
 * and no copy of a model is ever made. */
#ifndef CORGI_SERVICE_PLANNING_THREAD_H
#define CORGI_SERVICE_PLANNING_THREAD_H

#include "http/reactor.h"
#include "loop/loop.h"
#include "service/observation_store.h"

struct planning_thread;

struct planning_thread_options {
    uint64_t seed;
    int adapt_every; /* observations of pairs */
};

/* loop's model must be a learned one of the same types; it is exchanged now and then. */
struct planning_thread *
planning_thread_create(struct reactor *reactor, struct loop *loop,
                       const struct planning_thread_options *options, struct err *err);
/* Waits for what is under way; its done() is called. */
void planning_thread_destroy(struct planning_thread *mind); /* NULL is fine */

/* What the loop's model has absorbed too. */
void planning_thread_learn(struct planning_thread *mind, const struct observation *seen);

/* A job has ended: the thread's model, which knows it from plans, lets go of it. */
void planning_thread_end(struct planning_thread *mind, const struct job *job);

/* At the start: teach the thread's model, on the caller's thread. */
void planning_thread_recall(struct planning_thread *mind, const struct memory *memory);

/* Solve the round, then done(ctx) on the reactor's thread.  One at a time. */
struct planning_thread_timing {
    double solve_s;
    double waited_s; /* for the thread */
};
typedef void planning_thread_done(void *ctx, struct round *round,
                                  const struct planning_thread_timing *timing);
int planning_thread_plan(struct planning_thread *mind, struct round *round,
                         planning_thread_done *done, void *ctx, struct err *err);

/* Adapt when it is due and the thread is idle. */
void planning_thread_idle(struct planning_thread *mind);

struct planning_thread_stats {
    uint64_t adapted;
    uint64_t exchanged; /* times the loop got the adapted model */
    double adapt_s;     /* the last time */
    bool adapting;
};
struct planning_thread_stats planning_thread_stats(
    const struct planning_thread *mind); /* NULL: nothing yet, or any more */

#endif
