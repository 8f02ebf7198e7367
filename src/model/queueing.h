/* queueing.h - requests a service can take and still answer in time
 *
 * A rate measured or predicted is what a service could do without pause.  At that load
 * its queue would never end: a promise on latency holds at a lower one.  Requests come at
 * random, each takes the same time on one device, several devices share a queue. */
#pragma once

#include "model/model_types.h"

/* 99th percentile of the time from arrival to answer at `load` requests/s; infinite when
 * that is more than the capacity. */
double queueing_latency_s(double capacity, int devices, double load);

/* Requests/s with an answer within latency_s at the 99th percentile; 0: not even one. */
double queueing_rate_within(double capacity, int devices, double latency_s);

/* What counts of a rate for this job: of a service that asked for a latency the rate
 * within it, of others the rate itself. */
double queueing_useful(const struct job *job, double rate);
void queueing_useful_estimate(const struct job *job, struct estimate *estimate);
