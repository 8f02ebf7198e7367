/* told_sizes.h - what users tell of the size of their jobs
 *
 * scenario.c calls it for every workload, wherever that comes from: requests carry what
 * is really to be done (sim_request.steps, .serve_s), which nobody but the simulated
 * engine may see; the job that enters the loop has only what is told here. */
#pragma once

#include "lab/traces/workload.h"

/* Half of the jobs tell a size, off by a factor drawn log-normally (sd 0.5); the others
 * tell none.  A deadline is about a number of steps, so who has one tells it. */
void told_sizes_apply(struct workload *workload, uint64_t seed);

/* Every job tells what is really to be done: the first protocol, for comparison. */
void told_sizes_true(struct workload *workload);
