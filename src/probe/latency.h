/* latency.h - how long the answers of a server take, from its Prometheus page
 *
 * A page tells it in one of three ways, each as totals since the server began: a
 * histogram (`_bucket` with `le`), of which the difference between two pages gives the
 * quantiles of the time between them; a summary (`quantile=`), whose quantiles are the
 * server's own; or a plain counter of time, which gives a mean and no quantile. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define LATENCY_MAX_BUCKETS 128 /* a histogram with more gives only a mean */

struct latency_bucket {
    double bound; /* le; infinity: all */
    double count; /* answers within it, cumulative */
};

/* The totals of one page, over all label sets; all in the unit of the page. */
struct latency {
    double sum, count;   /* NaN: not told */
    double p99, median;  /* by a summary, the largest over label sets; NaN: not told */
    double p99_quantile; /* which one that is: the lowest from 0.99 on */
    int bucket_count;
    bool too_many;                                      /* buckets */
    struct latency_bucket buckets[LATENCY_MAX_BUCKETS]; /* by bound */
};

void latency_init(struct latency *latency); /* nothing told */

/* One sample of the metric: what stands behind its name ("_bucket", "_sum", "_count", ""
 * or "_total"), the text between its braces, and its value. */
void latency_add(struct latency *latency, const char *suffix, size_t suffix_length,
                 const char *labels, size_t labels_length, double value);

/* What was answered between two pages; NaN: not told. */
struct latency_window {
    double answers, mean, median, p99;
};

/* A server that has begun again counts from 0. */
void latency_between(const struct latency *before, const struct latency *now,
                     struct latency_window *window);
