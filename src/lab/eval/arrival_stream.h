/* arrival_stream.h - arrivals of the online protocol, and what they measure */
#pragma once

#include "base/rng.h"
#include "lab/eval/measured_table.h"

struct arrival_stream {
    size_t count;       /* observations: two an arrival whose pair ran */
    struct cell *cells; /* (count) */
    double *values;     /* (count) ln relative speed */
    int *arrival;       /* (count) number of the arrival, from 0 */
};

struct arrival_stream *arrival_stream_create(const struct measured *table, int arrivals,
                                             struct rng *rng);
void arrival_stream_destroy(struct arrival_stream *stream); /* NULL is fine */
