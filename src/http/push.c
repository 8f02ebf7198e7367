/* push.c - see push.h */
#include "http/push.h"

#include "http/server_own.h"

#include <stddef.h>

/* What the kernel keeps of a client that does not read. */
#define KERNEL_BYTES 65536

static struct conn *conn_of(const struct push *p)
{
    union {
        const char *bytes;
        struct conn *conn;
    } same = {.bytes = (const char *)p - offsetof(struct conn, push)};

    return same.conn;
}

struct push *push_begin(struct request *r, const char *content_type,
                        const struct push_events *events, void *ctx)
{
    struct conn *c = r->conn;

    if (!c || c->ended || r->head.method == HTTP_HEAD) {
        request_answer_bytes(r, 200, content_type, "", 0);
        return NULL;
    }
    request_count(r, 200);
    c->push = (struct push){.events = events, .ctx = ctx};
    stream_small_buffer(c->stream, KERNEL_BYTES);
    conn_push(c, content_type, &r->headers);
    request_destroy(r);
    return &c->push;
}

void push_write(struct push *p, const void *bytes, size_t count)
{
    stream_write(conn_of(p)->stream, bytes, count);
}

size_t push_unwritten(const struct push *p)
{
    return stream_unwritten(conn_of(p)->stream);
}

void push_patience(struct push *p, double seconds)
{
    stream_patience(conn_of(p)->stream, seconds);
}

void push_end(struct push *p)
{
    struct conn *c = conn_of(p);

    p->events = NULL;
    conn_finish(c);
}
