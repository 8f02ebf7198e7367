/* workers.h - slow work on threads, its end back on the reactor's thread
 *
 *     workers_run(workers, solve, solved, problem, &err);
 *
 * solve(problem) runs on some thread and touches nothing but what it was given;
 * solved(problem) then runs on the reactor's thread.  Work starts in the order given; for
 * work that must not overlap make workers of one thread. */
#ifndef CORGI_HTTP_WORKERS_H
#define CORGI_HTTP_WORKERS_H

#include "base/err.h"
#include "http/reactor.h"

#include <stddef.h>

struct workers;

struct workers *workers_create(struct reactor *r, const char *name, int threads,
                               size_t max_waiting, struct err *err);

/* Work that has not begun is not begun, but its done() is called like that of what was
 * finished; returns after the last.  On the reactor's thread.  NULL is fine. */
void workers_destroy(struct workers *w);

/* ERR_LIMIT when too many wait already; then nothing is called.  On the reactor's thread.
 */
int workers_run(struct workers *w, void (*work)(void *ctx), void (*done)(void *ctx),
                void *ctx, struct err *err);

size_t workers_busy(const struct workers *w); /* running and waiting */

#endif
