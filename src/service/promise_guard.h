/* promise_guard.h - is a promise kept?  The accounts of it: time under a promise, time of
 * that in which it was kept.  Who falls short is helped by the planner. */
#ifndef CORGI_SERVICE_PROMISE_GUARD_H
#define CORGI_SERVICE_PROMISE_GUARD_H

#include "service/service_private.h"

/* A window of the job was measured. */
void guard_check(struct service *s, struct record *r);

/* Is its promise broken at the moment? */
bool guard_is_broken(const struct record *r);

#endif
