/* metrics.h - numbers for Prometheus, in its text format
 *
 *     m = metrics_counter(metrics, "corgi_jobs_submitted_total", "Jobs submitted.",
 *                         "user kind");
 *     metric_add(m, 1, METRIC_LABELS("ada", "training"));
 *
 * Names follow the conventions: base units (_seconds, _joules, _watts, _bytes), _total on
 * counters; breaking them is our own mistake and asserted.  Everything on the reactor's
 * thread. */
#pragma once

#include "base/str.h"

#include <stddef.h>

struct metrics;
struct metric;

#define METRICS_CONTENT_TYPE "text/plain; version=0.0.4; charset=utf-8"
#define METRICS_MAX_LABELS   6
#define METRICS_MAX_SERIES   20000 /* of one metric; more are counted, not kept */

/* Values in the order the metric names its labels; without arguments: none. */
#define METRIC_LABELS(...) ((const char *const[METRICS_MAX_LABELS + 1]){__VA_ARGS__})
#define METRIC_NO_LABELS   ((const char *const *)0)

struct metrics *metrics_create(void);
void metrics_destroy(struct metrics *m); /* NULL is fine */

/* labels: names with blanks between; NULL: none.  Names, help and bounds are texts and
 * numbers that last; the result is borrowed. */
struct metric *metrics_counter(struct metrics *m, const char *name, const char *help,
                               const char *labels);
struct metric *metrics_gauge(struct metrics *m, const char *name, const char *help,
                             const char *labels);
/* bounds: (count) upper ones, growing; +Inf is added. */
struct metric *metrics_histogram(struct metrics *m, const char *name, const char *help,
                                 const char *labels, const double *bounds, size_t count);

void metric_add(struct metric *metric, double amount, const char *const *labels);
void metric_set(struct metric *metric, double value, const char *const *labels);
void metric_observe(struct metric *metric, double value, const char *const *labels);

/* A counter kept elsewhere: its present value, never less than before. */
void metric_set_total(struct metric *metric, double total, const char *const *labels);

void metric_clear(struct metric *metric); /* all of them */

void metrics_write(const struct metrics *m, struct str *out);
