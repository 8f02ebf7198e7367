/* promise_guard.h - when what is measured breaks what was promised
 *
 * A rate below the promise for longer than the window is acted on, with the least first:
 * the power cap is lifted; a new plan is made, which knows the measurement by now; the
 * neighbour goes back to the queue; the job itself does.  Each act is recorded with its
 * reason; after the last there is nothing left but to say so. */
#ifndef CORGI_SERVICE_PROMISE_GUARD_H
#define CORGI_SERVICE_PROMISE_GUARD_H

#include "service/service_private.h"

/* After a measurement of the job. */
void guard_check(struct service *s, struct record *r);

/* Is it below its promise right now? */
bool guard_is_broken(const struct record *r);

#endif
