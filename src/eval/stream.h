/* stream.h - arrivals of the online protocol, and what they measure */
#ifndef CORGI_EVAL_STREAM_H
#define CORGI_EVAL_STREAM_H

#include "base/rng.h"
#include "eval/measured.h"

struct stream {
    size_t count;       /* observations: two an arrival whose pair ran */
    struct cell *cells; /* (count) */
    double *values;     /* (count) ln relative speed */
    int *arrival;       /* (count) number of the arrival, from 0 */
};

struct stream *stream_create(const struct measured *table, int arrivals, struct rng *rng);
void stream_destroy(struct stream *stream); /* NULL is fine */

#endif
