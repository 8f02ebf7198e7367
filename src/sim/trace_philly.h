/* trace_philly.h - arrivals of the Philly trace
 *
 * CSV with the columns arrival_s,duration_s,num_gpus; others are passed over. */
#ifndef CORGI_SIM_TRACE_PHILLY_H
#define CORGI_SIM_TRACE_PHILLY_H

#include "sim/arrivals.h"

int trace_philly_load(struct arrivals *arrivals, const char *path, struct err *err);
int trace_philly_parse(struct arrivals *arrivals, const char *text, size_t length,
                       const char *name, struct err *err);

#endif
