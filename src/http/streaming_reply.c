/* streaming_reply.c - sse.c turns a request into an answer without an end here; conn.c
 * tells it when bytes have left and when the client has */
#include "http/streaming_reply.h"

#include "http/server_private.h"

#include <stddef.h>

/* What the kernel keeps of a client that does not read. */
#define KERNEL_BYTES 65536

static struct conn *conn_of(const struct streaming_reply *p)
{
    union {
        const char *bytes;
        struct conn *conn;
    } same = {.bytes = (const char *)p - offsetof(struct conn, push)};

    return same.conn;
}

struct streaming_reply *streaming_reply_begin(struct request *r, const char *content_type,
                                              const struct streaming_reply_events *events,
                                              void *ctx)
{
    struct conn *c = r->conn;

    if (!c || c->ended || r->head.method == HTTP_HEAD) {
        request_answer_bytes(r, 200, content_type, "", 0);
        return NULL;
    }
    request_count(r, 200);
    c->push = (struct streaming_reply){.events = events, .ctx = ctx};
    socket_stream_small_buffer(c->stream, KERNEL_BYTES);
    conn_push(c, content_type, &r->headers);
    request_destroy(r);
    return &c->push;
}

void streaming_reply_write(struct streaming_reply *p, const void *bytes, size_t count)
{
    socket_stream_write(conn_of(p)->stream, bytes, count);
}

size_t streaming_reply_unwritten(const struct streaming_reply *p)
{
    return socket_stream_unwritten(conn_of(p)->stream);
}

void streaming_reply_patience(struct streaming_reply *p, double seconds)
{
    socket_stream_patience(conn_of(p)->stream, seconds);
}

void streaming_reply_end(struct streaming_reply *p)
{
    struct conn *c = conn_of(p);

    p->events = NULL;
    conn_finish(c);
}
