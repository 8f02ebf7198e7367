/* trace.h - job lists as CSV
 *
 * Columns: job_type,total_steps,arrival_s,scale_factor,priority,slo.  A job type must be
 * a class of the world; on a number of GPUs nobody measured it on, the request is there
 * but will be rejected (see workload.h).  slo is a multiple of the job's time on the
 * reference GPU and becomes a deadline; -1 is none, and the job then asks for a share of
 * its reference rate drawn from the seed, as the generator does. */
#pragma once

#include "lab/traces/workload.h"

/* The caller owns *workload; on failure it is untouched and err names file, line and what
 * to do. */
int trace_load(struct workload **workload, const char *path, const struct world *world,
               uint64_t seed, struct err *err);
