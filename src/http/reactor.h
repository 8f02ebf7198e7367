/* reactor.h - the one thread that owns the daemon's state waits here for everything
 *
 * Connections, timers, signals, descriptors of engines and results posted by other
 * threads all become calls on the thread in reactor_run(), one after the other, so that
 * what they touch needs no locks.  Only reactor_post() and reactor_stop() may be called
 * from other threads. */
#pragma once

#include "base/err.h"

#include <sys/time.h>

struct reactor;

struct reactor *reactor_create(struct err *err); /* NULL: failed */

/* After everything that hangs on it was destroyed.  What was posted and has not run is
 * dropped; reactor_step() runs it before. */
void reactor_destroy(struct reactor *r); /* NULL is fine */

int reactor_run(struct reactor *r, struct err *err); /* until reactor_stop() */
void reactor_stop(struct reactor *r);                /* from any thread */

/* While a turn lasts nobody else is served, so it is told what each one took. */
struct reactor_turn {
    double cpu_s;      /* of the processor */
    const char *most;  /* what took the most of it; NULL: nobody has said */
    double most_cpu_s; /* and how much */
};

struct reactor_watcher {
    void (*did)(void *ctx, const char *what, double cpu_s);
    void (*turned)(void *ctx, const struct reactor_turn *turn);
    void *ctx;
};

/* Told of each piece of work that says what it was, and after each turn of the whole. */
void reactor_on_turn(struct reactor *r, const struct reactor_watcher *watcher);

/* What this turn has done since it began, or since it was last said, was this; a text
 * that lasts.  On the reactor's thread. */
void reactor_did(struct reactor *r, const char *what);

/* Run what is ready, waiting at most that long for something to be: for tests, and for
 * the last words at the end.  0: do not wait. */
void reactor_step(struct reactor *r, double wait_s);

/* Run this on the reactor's thread, in the order of posting; from any thread. */
void reactor_post(struct reactor *r, void (*run)(void *ctx), void *ctx);

/* ---- timers, descriptors and signals ----------------------------------------------- */

struct reactor_event;

void reactor_event_destroy(struct reactor_event *e); /* NULL is fine; in its call too */

/* Made silent; start it with after() or every(), which replace one another. */
struct reactor_event *reactor_timer_create(struct reactor *r, void (*fire)(void *ctx),
                                           void *ctx);
void reactor_timer_after(struct reactor_event *timer, double seconds); /* once */
void reactor_timer_every(struct reactor_event *timer, double seconds);
void reactor_timer_cancel(struct reactor_event *timer);

/* Called as long as the descriptor is readable (level-triggered).  It stays its owner's
 * and must outlive the event. */
struct reactor_event *reactor_watch_create(struct reactor *r, int fd,
                                           void (*ready)(void *ctx), void *ctx);

/* Called when the signal was caught; one reactor a process may catch signals.  NULL:
 * failed. */
struct reactor_event *reactor_signal_create(struct reactor *r, int number,
                                            void (*caught)(void *ctx), void *ctx,
                                            struct err *err);

/* ---- for conn.c, which knows libevent too ------------------------------------------ */

struct event_base *reactor_base(struct reactor *r);
struct timeval reactor_time(double seconds);
