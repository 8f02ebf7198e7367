/* requirement.h - what a requirement means at a moment */
#pragma once

#include "loop/planner.h"

/* The rate the job must have now: 0 for best effort, the demand of a service, what is
 * left of the steps over what is left of the time for a deadline.  A deadline that has
 * passed asks for nothing more: it is broken already. */
double requirement_rate_now(const struct job_status *status, double now_s);

/* The rate below which a promise is broken right now: without the headroom that a new
 * place must have for a service's demand to grow. */
double requirement_rate_kept(const struct job_status *status, double now_s);

/* Seconds a job with a deadline could still wait and be done in time, at the rate it was
 * measured or quoted at, else by the deadline alone; less than 0: it is late.  INFINITY:
 * it has none. */
double requirement_slack_s(const struct job_status *status, double now_s);

/* Requests/s a service is asked for now, as far as is known; 0 for whoever works all the
 * time. */
double requirement_demand(const struct job_status *status);

/* The probability a place must keep the requirement with, to be given to the job: what it
 * asks for itself, at least the cluster's.  Where the job can be moved again what is
 * measured decides soon, so that a lower one does.  The same for plans and quotes. */
double requirement_confidence(const struct optimize_settings *settings,
                              const struct job *job);

/* May the job run on devices of this type? */
bool requirement_allows_type(const struct job *job, int type);

extern const char *const requirement_kind_names[]; /* of enum need_kind; ends with NULL */
