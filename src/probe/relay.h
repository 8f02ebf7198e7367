/* relay.h - a job's output: handed on byte for byte, and looked at on the way
 *
 * Nothing the reader does can stall the probe: a destination that does not take bytes
 * makes the job wait, as it would have without the probe, and nothing else.  To be cheap,
 * a stream that brings little at a time is left alone for a moment before it is read
 * again, and one that brings very much is only looked at in part. */
#ifndef CORGI_PROBE_RELAY_H
#define CORGI_PROBE_RELAY_H

#include "probe/output_limit.h"
#include "probe/lines.h"
#include "base/poller.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RELAY_BUFFER 65536
#define RELAY_TAIL   8192 /* the end of the output, kept to explain how the job ended */

struct relay {
    int poller;
    struct poller_watch in, out;
    int from, to;               /* owned; -1: closed */
    struct output_limit *limit; /* of the file `to` is; borrowed, NULL: none */
    bool may_block;             /* `to` could block and could not be made not to */
    bool terminal;              /* people look at it: no pauses */
    double rest_until_s;
    double second_s; /* the second the budget below is for */
    size_t looked_at;
    bool skipping;
    double last_bytes_s; /* when the newest bytes came */
    bool partial;        /* there is a line without an end */
    uint64_t bytes, lost_bytes;
    int lost_errno; /* why bytes were lost; 0: none were */
    struct lines lines;
    size_t pending, pending_at;
    size_t tail_length; /* of all bytes, modulo the size below */
    char tail[RELAY_TAIL];
    char buffer[RELAY_BUFFER];
};

/* Takes both descriptors over; `from` is made non-blocking.  line() as in lines.h. */
void relay_init(struct relay *relay, int poller, int from, int to,
                void (*line)(void *, double, const char *, size_t), void *ctx);
void relay_fini(struct relay *relay);

/* When relay_tick() wants to be called next; infinity: only when bytes come. */
double relay_due_s(const struct relay *relay);
void relay_tick(struct relay *relay, double now_s);

/* All writers are gone: take what is still in the pipe, and hand it on as far as the
 * destination takes it within a short time. */
void relay_drain(struct relay *relay);

/* The last bytes of the output, oldest first; returns how many. */
size_t relay_tail(const struct relay *relay, char *text, size_t size);

#endif
