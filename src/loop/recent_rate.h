/* recent_rate.h - what a job has lately done where it is
 *
 * Models answer for combinations in general and smooth over much; whether a promise is
 * broken right now is told by the last windows of the job itself. */
#pragma once

#include "loop/types.h"

/* Take a window in.  One after a change of company or cap starts anew. */
void recent_rate_note(struct job_status *status, const struct cluster *cluster,
                      const struct measurement *m);

/* By its last windows, does the job do less than this rate?  A service: does it answer
 * fewer requests than it is asked, or later than was promised?  What it could do, no
 * window tells: that is not asked. */
bool recent_rate_falls_short(const struct job_status *status, double rate);

/* Requests/s a service can do where it was last measured; NaN: only that it does what it
 * does. */
double recent_rate_capacity(const struct job_status *status);

/* Has the job been measured on its device beside whoever is there now?  Under which cap
 * is in pace.cap_watts. */
bool recent_rate_known(const struct job_status *status, const struct cluster *cluster);
