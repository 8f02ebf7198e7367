/* telemetry.h - measurements of jobs and power of devices, as they come
 *
 * Raw rows are kept for a while; retention then folds them into one row an hour.  Reads
 * give both: a folded row has windows > 1. */
#ifndef CORGI_STORE_TELEMETRY_H
#define CORGI_STORE_TELEMETRY_H

#include "store/reader.h"
#include "store/store.h"

struct store_measurement {
    uint64_t job;
    int attempt;
    const char *device; /* name; NULL: not of one device */
    double at_s;        /* end of the window */
    double window_s;
    double rate;      /* NaN: none */
    double watts;     /* of the device; NaN: none */
    double steps;     /* so far; NaN: none */
    double latency_s; /* 99th percentile of a service in the window; 0 or NaN: none */
    const char *source;
    double confidence; /* 0..1 */
    bool out_of_memory;
    /* Only when read: */
    uint64_t windows; /* that this row stands for; then rate, watts, latency are means */
    double rate_low, rate_high;
    double latency_high_s;
};

struct store_power {
    const char *device;
    double at_s; /* end of the window */
    double window_s;
    double watts; /* mean */
    double joules;
    bool modelled;
};

void store_add_measurement(struct store_batch *batch, const struct store_measurement *m);
void store_add_power(struct store_batch *batch, const struct store_power *power);

typedef int (*store_measurement_row)(void *ctx, const struct store_measurement *m);

/* Between the times, to_s 0: no end; oldest first; limit 0: 10000. */
int store_read_measurements(struct store_reader *reader, uint64_t job, double from_s,
                            double to_s, int limit, store_measurement_row row, void *ctx,
                            struct err *err);

#endif
