/* job_meter.h - everything that is listened to while a job runs, and what it amounts to
 *
 * Owns the heartbeat socket, the scraper, the progress file and the sources; gives the
 * reports of rate and demand when they are due. */
#ifndef CORGI_PROBE_JOB_METER_H
#define CORGI_PROBE_JOB_METER_H

#include "base/err.h"
#include "probe/probe_report.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct job_meter_options {
    uint64_t job;
    int attempt;
    double window_s;
    const char *dir;             /* for the socket; NULL: a temporary one */
    const char *metrics_url;     /* NULL: none */
    const char *metrics_counter; /* NULL: known ones */
    const char *progress;        /* NULL: none */
};

struct job_meter;

/* The options are borrowed.  The socket's path is put into CORGI_HEARTBEAT of this
 * process, for the job to inherit. */
struct job_meter *job_meter_create(const struct job_meter_options *options,
                                   struct err *err);
void job_meter_destroy(struct job_meter *meter); /* NULL is fine */

void job_meter_start(struct job_meter *meter, int poller, double now_s);

/* A line of output; the signature of lines.h. */
void job_meter_line(void *meter, double at_s, const char *text, size_t length);

void job_meter_tick(struct job_meter *meter, double now_s);
double job_meter_due_s(const struct job_meter *meter);

/* The next report that is due: 1; 0 when there is none.  `last`: the job has ended, so
 * what has come since the last report is all there will be. */
int job_meter_report(struct job_meter *meter, double now_s, bool last,
                     struct probe_report *report);

/* Over the whole run. */
void job_meter_overall(struct job_meter *meter, double now_s, double *steps,
                       double *rate);

#endif
