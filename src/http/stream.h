/* stream.h - the bytes of one accepted connection, plain or TLS
 *
 * The only file besides reactor.c that knows libevent.  Callbacks come from the reactor,
 * never from within a call of these functions. */
#ifndef CORGI_HTTP_STREAM_H
#define CORGI_HTTP_STREAM_H

#include "base/str.h"
#include "http/reactor.h"

#include <stdbool.h>
#include <stddef.h>

struct stream;
struct tls;

enum stream_end {
    STREAM_CLOSED,  /* the other side has sent all it will; may still read */
    STREAM_BROKEN,  /* nothing goes any more */
    STREAM_STALLED, /* it has not taken a byte for as long as allowed */
};

struct stream_events {
    void (*readable)(void *ctx); /* there are new bytes */
    void (*written)(void *ctx);  /* all bytes have left */
    void (*ended)(void *ctx, enum stream_end how);
};

/* Takes the descriptor, which is closed with the stream, also on failure (NULL). */
struct stream *stream_create(struct reactor *r, int fd, struct tls *tls,
                             const struct stream_events *events, void *ctx);
void stream_destroy(struct stream *s); /* NULL is fine; in a callback too */

/* Take at most that many of the bytes that have come. */
size_t stream_read(struct stream *s, struct str *to, size_t most);
size_t stream_skip(struct stream *s, size_t most); /* the same without keeping them */
size_t stream_readable(const struct stream *s);
void stream_kick(struct stream *s); /* call readable() soon, as if there were new bytes */

void stream_write(struct stream *s, const void *bytes, size_t count);
size_t stream_unwritten(const struct stream *s);
void stream_patience(struct stream *s, double write_s); /* see STREAM_STALLED */

/* Tell the other side that no more will come; it may still send. */
void stream_shut(struct stream *s);

/* Let the kernel keep no more than that of what is not yet taken. */
void stream_small_buffer(struct stream *s, int bytes);

int stream_fd(const struct stream *s);

#endif
