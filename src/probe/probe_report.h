/* probe_report.h - what corgi-probe tells an engine: report lines and the status file
 *
 * A report is a datagram of one line,
 *
 *     corgi=1 kind=rate job=7 attempt=1 at=1767225600.5 window=10 rate=41.7 steps=1250
 *     source=log confidence=0.8
 *
 * with watts= where its GPUs are metered, latency=, median=, busy= and held= of a
 * service, key= where the engine gave one,
 * and the status file says in one line how the job ended, for an engine that was not
 * there to hear it.  Keys that mean nothing for a kind are left out; keys that the reader
 * does not know are passed over.  Both sides use this file. */
#pragma once

#include "base/err.h"
#include "base/str.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROBE_REPORT_MAX_LINE 2048 /* bytes of a line; longer ones are refused */
#define PROBE_REPORT_MAX_TEXT 240  /* bytes of the text, with the NUL; more is cut */
#define PROBE_KEY_SIZE        33   /* of a key, with the NUL */

enum probe_report_kind {
    PROBE_STARTED,
    PROBE_RATE,
    PROBE_DEMAND, /* of a service: rate is what is asked of it */
    PROBE_ENDED,  /* the status file tells the same, and when the job was started */
    PROBE_KIND_COUNT
};

/* Best first: a source is used when no better one speaks. */
enum probe_source {
    PROBE_NO_SOURCE,
    PROBE_HEARTBEAT,
    PROBE_PROMETHEUS,
    PROBE_LOG,
    PROBE_PROGRESS,
    PROBE_ACTIVITY,
    PROBE_SOURCE_COUNT
};

/* What is seen of a service beside its rate, in one window; NaN: not told. */
struct probe_service {
    double latency_s, median_s; /* 99th and 50th percentile of its answers */
    double busy;                /* share of its devices' time, by the job's own word */
    double held;                /* requests inside, worked on or waiting */
};

#define PROBE_SERVICE_UNKNOWN ((struct probe_service){NAN, NAN, NAN, NAN})

struct probe_report {
    int version; /* of the line: 1 */
    enum probe_report_kind kind;
    uint64_t job;
    int attempt;      /* from 1 */
    double at_s;      /* since the epoch */
    double started_s; /* status file: likewise; NaN: the command could not be started */
    double window_s;  /* the time the rate was taken over; NaN: n/a */
    double rate;      /* per second; NaN: n/a; ENDED: over the whole run */
    double steps;     /* done since this attempt began; NaN: not known */
    double watts;     /* RATE: mean of one of its devices in the window; NaN: n/a */
    struct probe_service service; /* RATE */
    enum probe_source source;
    double confidence; /* in the source, 0..1; NaN: n/a */
    int exit_status;   /* ENDED: 0..255, as a shell tells it: 128 + signal; -1: n/a */
    int signal;        /* ENDED: that ended it, 0: none; -1: n/a */
    bool oom;          /* ENDED: it ran out of memory, the text tells which */
    int told;          /* of an end: 1: a signal reached it before; -1: n/a */
    char text[PROBE_REPORT_MAX_TEXT]; /* a sentence for people; "": none */
    char key[PROBE_KEY_SIZE]; /* that it is of this attempt: as in its file key; "": none
                               */
};

/* All "not known"; attempt 1. */
void probe_report_init(struct probe_report *report, enum probe_report_kind kind,
                       uint64_t job);

/* Add the line, without a newline (the status file's has one). */
void probe_report_format(const struct probe_report *report, struct str *line);
void probe_status_format(const struct probe_report *ended, struct str *line);

/* Read a line of that many bytes (a NUL or a newline ends it too).  ERR_FORMAT says what
 * is wrong, ERR_UNSUPPORTED is another version; the output is then untouched. */
int probe_report_parse(struct probe_report *report, const char *line, size_t length,
                       struct err *err);
int probe_status_parse(struct probe_report *ended, const char *line, size_t length,
                       struct err *err);

extern const char *const probe_source_names[PROBE_SOURCE_COUNT + 1];

/* One line of key=value pairs, read pair by pair:
 *
 *     struct fields f = {.at = line, .end = line + length};
 *     while ((more = fields_next(&f)) > 0)
 *         use(f.key, f.value);
 *
 * Pairs are apart by blanks; a value with blanks stands in double quotes, where \" and
 * \\ stand for themselves.  Reports, status files and heartbeats are such lines.  Nothing
 * is allocated and nothing beyond `end` is read. */
struct fields {
    const char *at, *end; /* what is left of the line */
    char key[32];         /* of the present pair: small letters, digits, _ */
    char value[512];      /* likewise, without its quotes */
};

/* 1: key and value hold the next pair; 0: the line is over (at its end, a newline or a
 * NUL); -1: what comes is no such pair, and nothing behind it can be trusted. */
int fields_next(struct fields *f);
