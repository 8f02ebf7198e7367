/* trace_demand.h - the shape of a service's load, from a list of requests
 *
 * CSV with a column arrival_s, a line a request (the Azure LLM traces).  Requests are
 * counted by the minute and set against a busy minute (the 95th percentile), so that a
 * shape is within 0.02 and 1; a longer simulation repeats it. */
#pragma once

#include "lab/traces/workload.h"

/* Gives the workload's services this shape, each from a minute of its own. */
void trace_demand_apply_take(struct workload *workload, float *shape, size_t minutes);

/* The caller frees *shape; on failure it is untouched and err names file and line. */
int trace_demand_load(float **shape, size_t *minutes, const char *path, struct err *err);
