/* happenings.h - what the engine and the probes tell */
#ifndef CORGI_SERVICE_HAPPENINGS_H
#define CORGI_SERVICE_HAPPENINGS_H

#include "service/state.h"

/* For engine_sink. */
void happenings_event(void *service, const struct engine_event *event);

/* A window of measurement, from the engine or over HTTP.  -1: the loop cannot use it
 * (it is stored all the same when it is of a job that runs). */
struct happenings_sample {
    struct measurement measurement;
    int attempt;
    double steps;     /* NaN: not told */
    double demand;    /* NaN: not told */
    double latency_s; /* of a service, 99th percentile; not positive: not told */
    const char *source;
    double confidence;
};
int happenings_measured(struct service *s, struct record *r,
                        const struct happenings_sample *sample, struct err *err);

#endif
