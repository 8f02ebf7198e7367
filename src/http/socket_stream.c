/* socket_stream.c - libevent's buffers around a socket, plain or with OpenSSL's TLS
 *
 * server.c loads the certificates; conn.c makes a stream of each connection it accepts,
 * reads requests from it and writes answers to it. */
#include "http/socket_stream.h"

#include "base/mem.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <event2/event.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- certificates ------------------------------------------------------------------ */

struct tls {
    SSL_CTX *context;
};

static int tls_failed(struct err *err, const char *what, const char *path)
{
    const char *reason = ERR_reason_error_string(ERR_peek_last_error());

    ERR_clear_error();
    return err_set(err, ERR_INVALID, "%s %s: %s", what, path,
                   reason ? reason : "OpenSSL refuses it");
}

static int load_certificate(SSL_CTX *context, const char *certificate, const char *key,
                            struct err *err)
{
    if (SSL_CTX_use_certificate_chain_file(context, certificate) != 1)
        return tls_failed(err, "cannot use the certificate", certificate);
    if (SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) != 1)
        return tls_failed(err, "cannot use the key", key);
    if (SSL_CTX_check_private_key(context) != 1)
        return tls_failed(err, "the certificate does not belong to the key", key);
    return 0;
}

struct tls *tls_create(const char *certificate, const char *key, struct err *err)
{
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    struct tls *tls;

    if (!context || SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) != 1) {
        tls_failed(err, "cannot set up", "TLS");
        SSL_CTX_free(context);
        return NULL;
    }
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                     SSL_OP_IGNORE_UNEXPECTED_EOF);
    if (load_certificate(context, certificate, key, err) < 0) {
        SSL_CTX_free(context);
        return NULL;
    }
    tls = mem_new(struct tls);
    tls->context = context;
    return tls;
}

void tls_destroy(struct tls *tls)
{
    if (!tls)
        return;
    SSL_CTX_free(tls->context);
    free(tls);
}

/* ---- streams ----------------------------------------------------------------------- */

/* What a client may send ahead of being asked: more stays with the kernel. */
#define READ_AHEAD_BYTES 65536

struct socket_stream {
    struct bufferevent *bev;
    const struct socket_stream_events *events;
    void *ctx;
};

static void on_read(struct bufferevent *bev, void *ctx)
{
    struct socket_stream *s = ctx;

    (void)bev;
    s->events->readable(s->ctx);
}

static void on_written(struct bufferevent *bev, void *ctx)
{
    struct socket_stream *s = ctx;

    (void)bev;
    s->events->written(s->ctx);
}

static void on_event(struct bufferevent *bev, short what, void *ctx)
{
    struct socket_stream *s = ctx;

    (void)bev;
    if (what & BEV_EVENT_CONNECTED)
        return; /* the end of a TLS handshake */
    if (what & BEV_EVENT_TIMEOUT)
        s->events->ended(s->ctx, SOCKET_STREAM_STALLED);
    else if ((what & BEV_EVENT_EOF) && (what & BEV_EVENT_READING))
        s->events->ended(s->ctx, SOCKET_STREAM_CLOSED);
    else
        s->events->ended(s->ctx, SOCKET_STREAM_BROKEN);
}

struct socket_stream *socket_stream_create(struct reactor *r, int fd, struct tls *tls,
                                           const struct socket_stream_events *events,
                                           void *ctx)
{
    const int options = BEV_OPT_CLOSE_ON_FREE | BEV_OPT_DEFER_CALLBACKS;
    struct event_base *base = reactor_base(r);
    struct bufferevent *bev =
        tls ? bufferevent_openssl_socket_new(base, fd, SSL_new(tls->context),
                                             BUFFEREVENT_SSL_ACCEPTING, options)
            : bufferevent_socket_new(base, fd, options);
    struct socket_stream *s;

    if (!bev) {
        close(fd);
        return NULL;
    }
    if (tls)
        bufferevent_openssl_set_allow_dirty_shutdown(bev, 1);
    s = mem_new(struct socket_stream);
    *s = (struct socket_stream){.bev = bev, .events = events, .ctx = ctx};
    bufferevent_setcb(bev, on_read, on_written, on_event, s);
    bufferevent_setwatermark(bev, EV_READ, 0, READ_AHEAD_BYTES);
    bufferevent_enable(bev, EV_READ | EV_WRITE);
    return s;
}

void socket_stream_destroy(struct socket_stream *s)
{
    if (!s)
        return;
    /* Deferred callbacks may be under way; libevent keeps bev for them, not s. */
    bufferevent_setcb(s->bev, NULL, NULL, NULL, NULL);
    bufferevent_free(s->bev);
    free(s);
}

size_t socket_stream_read(struct socket_stream *s, struct str *to, size_t most)
{
    struct evbuffer *in = bufferevent_get_input(s->bev);
    size_t taken = 0;

    while (taken < most && evbuffer_get_length(in) > 0) {
        size_t count = evbuffer_get_contiguous_space(in);

        if (count > most - taken)
            count = most - taken;
        str_add_bytes(to, (const char *)evbuffer_pullup(in, (ev_ssize_t)count), count);
        evbuffer_drain(in, count);
        taken += count;
    }
    return taken;
}

size_t socket_stream_skip(struct socket_stream *s, size_t most)
{
    struct evbuffer *in = bufferevent_get_input(s->bev);
    size_t count = evbuffer_get_length(in);

    if (count > most)
        count = most;
    evbuffer_drain(in, count);
    return count;
}

size_t socket_stream_readable(const struct socket_stream *s)
{
    return evbuffer_get_length(bufferevent_get_input(s->bev));
}

void socket_stream_kick(struct socket_stream *s)
{
    bufferevent_trigger(s->bev, EV_READ,
                        BEV_TRIG_IGNORE_WATERMARKS | BEV_OPT_DEFER_CALLBACKS);
}

void socket_stream_write(struct socket_stream *s, const void *bytes, size_t count)
{
    bufferevent_write(s->bev, bytes, count);
}

size_t socket_stream_unwritten(const struct socket_stream *s)
{
    return evbuffer_get_length(bufferevent_get_output(s->bev));
}

void socket_stream_patience(struct socket_stream *s, double write_s)
{
    struct timeval limit = {.tv_sec = (time_t)write_s,
                            .tv_usec =
                                (suseconds_t)((write_s - (double)(time_t)write_s) * 1e6)};

    bufferevent_set_timeouts(s->bev, NULL, write_s > 0 ? &limit : NULL);
}

void socket_stream_shut(struct socket_stream *s)
{
    SSL *session = bufferevent_openssl_get_ssl(s->bev);

    if (session)
        SSL_shutdown(session); /* or the other side takes the end for an accident */
    shutdown(bufferevent_getfd(s->bev), SHUT_WR);
}

void socket_stream_small_buffer(struct socket_stream *s, int bytes)
{
    setsockopt(bufferevent_getfd(s->bev), SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
}
