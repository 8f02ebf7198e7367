/* trace_philly.h - arrivals of the Philly trace
 *
 * CSV with the columns arrival_s,duration_s,num_gpus; others are passed over. */
#ifndef CORGI_SIM_TRACE_PHILLY_H
#define CORGI_SIM_TRACE_PHILLY_H

#include "sim/arrivals.h"

extern const struct arrivals_reader trace_philly_reader;

#endif
