/* store_load.h - clients that submit to a store, and how long each waited */
#ifndef CORGI_LAB_BENCH_STORE_LOAD_H
#define CORGI_LAB_BENCH_STORE_LOAD_H

#include "base/err.h"

#include <stdbool.h>

struct store_load {
    int clients;
    double seconds;
    double per_s;        /* of all clients together; 0: each submits again at once */
    int telemetry_per_s; /* measurements beside it */
    bool reading;        /* one more thread lists jobs all the time */
};

struct store_load_result {
    double submissions_per_s;
    double commits_per_s; /* synced transactions */
    double group;         /* submissions in each */
    double p50_ms, p99_ms, max_ms;
    double read_p99_ms; /* a list of 50 jobs; NaN: nobody read */
};

/* On a store at path, which is made. */
int store_load_run(const char *path, const struct store_load *load,
                   struct store_load_result *result, struct err *err);

#endif
