/* measure.h - everything that is listened to while a job runs, and what it amounts to
 *
 * Owns the heartbeat socket, the scraper, the progress file and the sources; gives the
 * reports of rate and demand when they are due. */
#ifndef CORGI_PROBE_MEASURE_H
#define CORGI_PROBE_MEASURE_H

#include "base/err.h"
#include "probe/report.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct measure_options {
    uint64_t job;
    int attempt;
    double window_s;
    const char *dir;             /* for the socket; NULL: a temporary one */
    const char *metrics_url;     /* NULL: none */
    const char *metrics_counter; /* NULL: known ones */
    const char *progress;        /* NULL: none */
};

struct measure;

/* The socket's path is put into CORGI_HEARTBEAT of this process, for the job to inherit.
 */
struct measure *measure_create(const struct measure_options *options, struct err *err);
void measure_destroy(struct measure *measure); /* NULL is fine */

void measure_start(struct measure *measure, int loop, double now_s);

/* A line of output; the signature of lines.h. */
void measure_line(void *measure, double at_s, const char *text, size_t length);

void measure_tick(struct measure *measure, double now_s);
double measure_due_s(const struct measure *measure);

/* The next report that is due: 1; 0 when there is none.  `last`: the job has ended, so
 * what has come since the last report is all there will be. */
int measure_report(struct measure *measure, double now_s, bool last,
                   struct report *report);

/* Over the whole run. */
void measure_overall(struct measure *measure, double now_s, double *steps, double *rate);

#endif
