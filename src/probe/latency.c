/* latency.c - quantiles from histograms and summaries, see latency.h
 *
 * scrape.c hands over the samples of a page, and the pages at two reports; what comes out
 * goes into the report of the window between them. */
#include "probe/latency.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void latency_init(struct latency *latency)
{
    latency->sum = latency->count = NAN;
    latency->p99 = latency->median = latency->p99_quantile = NAN;
    latency->bucket_count = 0;
    latency->too_many = false;
}

/* The number a label stands for; "+Inf" is one, too.  False: there is no such label. */
static bool label_number(const char *labels, size_t length, const char *name,
                         double *number)
{
    const char *end = labels + length, *p = labels;
    size_t name_length = strlen(name);

    while (p < end) {
        const char *key = p, *value;
        char text[32], *rest;
        bool found;

        p = memchr(p, '=', (size_t)(end - p));
        if (!p || p + 1 >= end || p[1] != '"')
            return false;
        while (*key == ' ' || *key == ',')
            key++;
        found = (size_t)(p - key) == name_length && !memcmp(key, name, name_length);
        value = p + 2;
        for (p = value; p < end && *p != '"'; p++)
            if (*p == '\\' && p + 1 < end)
                p++;
        if (p == end)
            return false;
        if (found) {
            if ((size_t)(p - value) >= sizeof(text))
                return false;
            memcpy(text, value, (size_t)(p - value));
            text[p - value] = '\0';
            *number = strtod(text, &rest);
            return rest != text && !*rest && !isnan(*number);
        }
        p++;
    }
    return false;
}

static void add_to(double *total, double value)
{
    *total = isnan(*total) ? value : *total + value;
}

/* Series of several label sets have the same bounds, each in order: mostly the next. */
static void add_bucket(struct latency *latency, double bound, double count)
{
    int at = latency->bucket_count;

    while (at > 0 && latency->buckets[at - 1].bound > bound)
        at--;
    if (at > 0 && latency->buckets[at - 1].bound == bound) {
        latency->buckets[at - 1].count += count;
        return;
    }
    if (latency->bucket_count == LATENCY_MAX_BUCKETS) {
        latency->too_many = true;
        return;
    }
    memmove(&latency->buckets[at + 1], &latency->buckets[at],
            (size_t)(latency->bucket_count - at) * sizeof(latency->buckets[0]));
    latency->buckets[at] = (struct latency_bucket){bound, count};
    latency->bucket_count++;
}

static void add_quantile(struct latency *latency, double quantile, double value)
{
    if (quantile == 0.5)
        latency->median = fmax(latency->median, value);
    if (quantile < 0.99 || quantile > 1 || quantile > latency->p99_quantile)
        return;
    if (quantile < latency->p99_quantile)
        latency->p99 = NAN;
    latency->p99_quantile = quantile;
    latency->p99 = fmax(latency->p99, value);
}

static bool is(const char *suffix, size_t length, const char *wanted)
{
    return length == strlen(wanted) && !memcmp(suffix, wanted, length);
}

void latency_add(struct latency *latency, const char *suffix, size_t suffix_length,
                 const char *labels, size_t labels_length, double value)
{
    double number;

    if (!(value >= 0))
        return;
    if (is(suffix, suffix_length, "_bucket")) {
        if (label_number(labels, labels_length, "le", &number) && number >= 0)
            add_bucket(latency, number, value);
    } else if (is(suffix, suffix_length, "_count")) {
        add_to(&latency->count, value);
    } else if (is(suffix, suffix_length, "_sum") || is(suffix, suffix_length, "_total")) {
        add_to(&latency->sum, value);
    } else if (suffix_length == 0) {
        if (label_number(labels, labels_length, "quantile", &number))
            add_quantile(latency, number, value);
        else
            add_to(&latency->sum, value);
    }
}

static double count_within(const struct latency *latency, double bound)
{
    for (int i = 0; i < latency->bucket_count; i++)
        if (latency->buckets[i].bound == bound)
            return latency->buckets[i].count;
    return 0;
}

static bool began_again(const struct latency *before, const struct latency *now)
{
    if (now->count < before->count || now->sum < before->sum)
        return true;
    for (int i = 0; i < now->bucket_count; i++)
        if (now->buckets[i].count < count_within(before, now->buckets[i].bound))
            return true;
    return false;
}

/* Answers are taken to lie evenly within a bucket; of the last, which has no end, only
 * its beginning is known. */
static double quantile(const struct latency *before, const struct latency *now,
                       double share)
{
    const struct latency_bucket *last = &now->buckets[now->bucket_count - 1];
    double all = last->count - count_within(before, last->bound);
    double below = 0, from = 0;

    if (!(all > 0))
        return NAN;
    for (int i = 0; i < now->bucket_count; i++) {
        const struct latency_bucket *b = &now->buckets[i];
        double within = b->count - count_within(before, b->bound);

        if (within >= share * all && within > below)
            return isinf(b->bound) ? from
                                   : from + (b->bound - from) * (share * all - below) /
                                                (within - below);
        below = fmax(below, within);
        from = b->bound;
    }
    return from;
}

void latency_between(const struct latency *before, const struct latency *now,
                     struct latency_window *window)
{
    struct latency nothing;

    latency_init(&nothing);
    if (began_again(before, now))
        before = &nothing;
    window->answers = now->count - (isnan(before->count) ? 0 : before->count);
    window->mean = window->median = window->p99 = NAN;
    if (!(window->answers > 0))
        return;
    window->mean = (now->sum - (isnan(before->sum) ? 0 : before->sum)) / window->answers;
    window->median = now->median;
    window->p99 = now->p99;
    if (now->bucket_count > 0 && !now->too_many) {
        window->median = quantile(before, now, 0.5);
        window->p99 = quantile(before, now, 0.99);
    }
}
