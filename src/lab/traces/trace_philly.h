/* trace_philly.h - arrivals of the Philly trace
 *
 * CSV with the columns arrival_s,duration_s,num_gpus; others are passed over. */
#ifndef CORGI_LAB_TRACES_TRACE_PHILLY_H
#define CORGI_LAB_TRACES_TRACE_PHILLY_H

#include "lab/traces/arrivals.h"

extern const struct arrivals_reader trace_philly_reader;

#endif
