/* engine_events.h - what the engine and the probes tell */
#ifndef CORGI_SERVICE_ENGINE_EVENTS_H
#define CORGI_SERVICE_ENGINE_EVENTS_H

#include "service/service_private.h"

/* For engine_sink. */
void engine_events_event(void *service, const struct engine_event *event);

/* A window of measurement, from the engine or over HTTP.  -1: the loop cannot use it
 * (it is stored all the same when it is of a job that runs). */
struct engine_events_sample {
    struct measurement measurement;
    int attempt;
    double steps;     /* NaN: not told */
    double demand;    /* NaN: not told */
    double latency_s; /* of a service, 99th percentile; not positive: not told */
    const char *source;
    double confidence;
};
int engine_events_measured(struct service *s, struct record *r,
                           const struct engine_events_sample *sample, struct err *err);

#endif
