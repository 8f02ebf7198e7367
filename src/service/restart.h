/* restart.h - the state again from the store, and what became of it meanwhile
 *
 * Jobs come back as they were stored; the engine is asked for every attempt that should
 * run, and where the two differ the job goes back to the queue, with a line in the log
 * and in its history. */
#ifndef CORGI_SERVICE_RESTART_H
#define CORGI_SERVICE_RESTART_H

#include "service/service_private.h"

/* Before the loop is there: when the clock of a simulated world must at least be. */
double restart_clock_s(struct service *s);

int restart_rebuild(struct service *s, struct err *err);

/* A record of a stored job, in the queue; and the job as the loop shall take it back.
 * More of the store goes into the record when no row of a job is open: the quote, the
 * energy so far. */
struct record *restart_record(struct service *s, const struct store_job *stored);
struct job_status restart_status(const struct record *r,
                                 const struct store_progress *progress);
void restart_read_more(struct service *s, struct record *r);

/* What was learned, and the clock, for the next start; done when stored. */
void restart_checkpoint(struct service *s);

#endif
