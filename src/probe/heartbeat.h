/* heartbeat.h - a job says itself how fast it is
 *
 * The job finds the path of a datagram socket in CORGI_HEARTBEAT and sends one line a
 * datagram: `rate=12.5` or `steps=1234`, and if it likes `rank=`, `unit=` (step, sample,
 * token...) and, for a service, `demand=` (requests per second asked of it). */
#ifndef CORGI_PROBE_HEARTBEAT_H
#define CORGI_PROBE_HEARTBEAT_H

#include "base/err.h"
#include "probe/units.h"

#include <stddef.h>

#define HEARTBEAT_MAX_BYTES 512

struct heartbeat {
    double rate, steps, demand;   /* NaN: not said */
    int rank;                     /* -1: not said */
    const struct work_unit *unit; /* "step" when not said */
};

/* One datagram; the output is untouched on failure. */
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

#endif
