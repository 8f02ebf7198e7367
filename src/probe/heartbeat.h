/* heartbeat.h - a job says itself how fast it is: to a socket or in a file
 *
 * The job finds the path of a datagram socket in CORGI_HEARTBEAT and sends one line a
 * datagram: `rate=12.5` or `steps=1234`, and if it likes `rank=`, `unit=` (step, sample,
 * token...) and, for a service, `demand=` (requests per second asked of it), `latency=`
 * and `median=` (seconds), `busy=` (0 to 1) and `held=` (requests inside).
 *
 * Or it keeps a file whose last line is a count ("1234", "1234/5000"), key=value pairs
 * ("steps=1234") or a JSON object ({"step": 1234}).  The time of a count is when the file
 * was written, so looking seldom costs no accuracy. */
#pragma once

#include "base/err.h"
#include "probe/match.h"
#include "probe/probe_report.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <time.h>

#define HEARTBEAT_MAX_BYTES 512

/* One datagram: what it counts or states, and what it tells of a service.  The unit is
 * "step" when it names none. */
struct heartbeat {
    struct match_hit hit;
    double demand; /* NaN: not told */
    struct probe_service service;
};

/* The output is untouched on failure. */
int heartbeat_parse(struct heartbeat *beat, const char *text, size_t length,
                    struct err *err);

/* From inside of a job: send the line to the socket of CORGI_HEARTBEAT, not waiting.
 * Where that is not set there is nobody to tell, which is no error. */
int heartbeat_send(const char *line, struct err *err);

/* A socket bound to the path, not blocking, for the owner only; -1: failed.  The caller
 * closes it and unlinks the path. */
int heartbeat_open(const char *path, struct err *err);

/* The next datagram that can be read as a heartbeat: 1; 0 when there is none left. */
int heartbeat_receive(int fd, struct heartbeat *beat);

struct progress_file {
    const char *path; /* borrowed */
    struct timespec written;
    off_t size;
};

/* A count that was in the file before the job began is not the job's. */
void progress_file_init(struct progress_file *file, const char *path);

/* True when it was written anew and says something; age_s is how long ago. */
bool progress_file_look(struct progress_file *file, struct match_hit *hit, double *age_s);

/* The text of the whole file or of its end. */
bool progress_file_parse(const char *text, size_t length, struct match_hit *hit);
