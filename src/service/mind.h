/* mind.h - planning and learning on a thread of their own
 *
 * Two models learn the same.  One answers on the daemon's thread (quotes, estimates) and
 * takes measurements at once; the other belongs to this thread, which plans with it and
 * adapts it, which may take seconds.  Once adapted the two change places: nobody waits,
 * and no copy of a model is ever made. */
#ifndef CORGI_SERVICE_MIND_H
#define CORGI_SERVICE_MIND_H

#include "http/reactor.h"
#include "loop/draft.h"
#include "service/memory.h"

struct mind;

struct mind_options {
    uint64_t seed;
    int adapt_every; /* observations of pairs */
};

/* loop's model must be a learned one of the same types; it is exchanged now and then. */
struct mind *mind_create(struct reactor *reactor, struct loop *loop,
                         const struct mind_options *options, struct err *err);
/* Waits for what is under way; its done() is called. */
void mind_destroy(struct mind *mind); /* NULL is fine */

/* What the loop's model has absorbed too. */
void mind_learn(struct mind *mind, const struct observation *seen);

/* A job has ended: the thread's model, which knows it from plans, lets go of it. */
void mind_end(struct mind *mind, const struct job *job);

/* At the start: teach the thread's model, on the caller's thread. */
void mind_recall(struct mind *mind, const struct memory *memory);

/* Solve the draft, then done(ctx) on the reactor's thread.  One at a time. */
struct mind_timing {
    double solve_s;
    double waited_s; /* for the thread */
};
typedef void mind_done(void *ctx, struct draft *draft, const struct mind_timing *timing);
int mind_plan(struct mind *mind, struct draft *draft, mind_done *done, void *ctx,
              struct err *err);

/* Adapt when it is due and the thread is idle. */
void mind_idle(struct mind *mind);

struct mind_stats {
    uint64_t adapted;
    uint64_t exchanged; /* times the loop got the adapted model */
    double adapt_s;     /* the last time */
    bool adapting;
};
struct mind_stats
mind_stats(const struct mind *mind); /* NULL: nothing yet, or any more */

#endif
