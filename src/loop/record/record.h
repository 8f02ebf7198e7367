/* record.h - the stage that takes measurements in
 *
 * A measurement is a number from outside: it is checked, put beside what was running
 * where, and given a noise that shrinks with the length of its window.  Windows that
 * straddle a change of place or neighbours are refused, for they tell of neither. */
#ifndef CORGI_LOOP_RECORD_RECORD_H
#define CORGI_LOOP_RECORD_RECORD_H

#include "base/err.h"
#include "loop/job_table.h"

/* Fill *seen from a measurement of a running job.  stable_since_s: when the devices of
 * the job last changed their jobs or cap.  ERR_NOT_FOUND: no such running job;
 * ERR_INVALID: the number or the window cannot be used. */
int record_observe(const struct measurement *m, struct jobs *jobs,
                   const struct cluster *cluster, double stable_since_s,
                   struct observation *seen, struct err *err);

#endif
