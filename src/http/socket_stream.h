/* socket_stream.h - the bytes of one accepted connection, plain or TLS
 *
 * The only file besides reactor.c that knows libevent.  Callbacks come from the reactor,
 * never from within a call of these functions. */
#ifndef CORGI_HTTP_SOCKET_STREAM_H
#define CORGI_HTTP_SOCKET_STREAM_H

#include "base/err.h"
#include "base/str.h"
#include "http/reactor.h"

#include <stdbool.h>
#include <stddef.h>

struct socket_stream;

/* ---- the server's certificate ------------------------------------------------------ */

struct tls;

/* TLS 1.2 and later with this certificate chain and key, both PEM files; NULL: failed. */
struct tls *tls_create(const char *certificate, const char *key, struct err *err);
void tls_destroy(struct tls *tls); /* NULL is fine; sessions go on */

/* ---- streams ----------------------------------------------------------------------- */

enum socket_stream_end {
    SOCKET_STREAM_CLOSED,  /* the other side has sent all it will; may still read */
    SOCKET_STREAM_BROKEN,  /* nothing goes any more */
    SOCKET_STREAM_STALLED, /* it has not taken a byte for as long as allowed */
};

struct socket_stream_events {
    void (*readable)(void *ctx); /* there are new bytes */
    void (*written)(void *ctx);  /* all bytes have left */
    void (*ended)(void *ctx, enum socket_stream_end how);
};

/* Takes the descriptor, which is closed with the stream, also on failure (NULL). */
struct socket_stream *socket_stream_create(struct reactor *r, int fd, struct tls *tls,
                                           const struct socket_stream_events *events,
                                           void *ctx);
void socket_stream_destroy(struct socket_stream *s); /* NULL is fine; in a callback too */

/* Take at most that many of the bytes that have come. */
size_t socket_stream_read(struct socket_stream *s, struct str *to, size_t most);
size_t socket_stream_skip(struct socket_stream *s,
                          size_t most); /* the same without keeping them */
size_t socket_stream_readable(const struct socket_stream *s);
void socket_stream_kick(
    struct socket_stream *s); /* call readable() soon, as if there were new bytes */

void socket_stream_write(struct socket_stream *s, const void *bytes, size_t count);
size_t socket_stream_unwritten(const struct socket_stream *s);
void socket_stream_patience(struct socket_stream *s,
                            double write_s); /* see SOCKET_STREAM_STALLED */

/* Tell the other side that no more will come; it may still send. */
void socket_stream_shut(struct socket_stream *s);

/* Let the kernel keep no more than that of what is not yet taken. */
void socket_stream_small_buffer(struct socket_stream *s, int bytes);

#endif
