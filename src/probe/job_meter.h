/* job_meter.h - everything that is listened to while a job runs, and what it amounts to
 *
 * Heartbeat, metrics, log, progress file and how busy the job is are sources: each may
 * speak or not, and rates of two of them need not be of the same thing.  The best source
 * that speaks is used; a worse one takes over only after a long silence.  Activity is
 * used only for a job that never said anything.
 *
 * The meter owns the heartbeat socket, the scraper, the progress file and the sources,
 * and gives the reports of rate and demand when they are due. */
#pragma once

#include "base/err.h"
#include "probe/probe_report.h"
#include "probe/tracks.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct job_meter_options {
    uint64_t job;
    int attempt;
    double window_s;
    bool power;         /* meter its GPUs, see activity.h */
    const char *marker; /* of its processes, see activity.h; NULL: they are below us */
    bool service;       /* it answers requests: more than a rate is told of it */
    const char *dir;    /* for the socket; NULL: a temporary one */
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

/* ---- which source is the rate ------------------------------------------------------ */

struct sources {
    double window_s;
    double started_s;
    bool from_zero;
    enum probe_source settled; /* the one answered with */
    double told_s;             /* newest evidence that was answered with */
    struct tracks *tracks[PROBE_SOURCE_COUNT]; /* to put evidence in */
};

/* attempt: a first one counts from 0; a later one goes on from a checkpoint, so only what
 * is added counts. */
struct sources *sources_create(double window_s, int attempt, double now_s);
void sources_destroy(struct sources *sources); /* NULL is fine */

/* Has nothing better been heard so far?  Looking at all processes is not free. */
bool sources_wants_activity(const struct sources *sources);

/* The rate of now, with its source, window, confidence and the steps so far, and if asked
 * for the rate over the whole run (NaN: not known).  False when there is none, or nothing
 * new since the last time it was asked with `fresh`. */
bool sources_rate(struct sources *sources, double now_s, bool fresh,
                  struct probe_report *report, double *overall);
