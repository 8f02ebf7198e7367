/* conn_answer.c - what a connection sends: answers of handlers, streams of sse.c, and its
 * end.  conn.c reads, and goes on when an answer has left. */
#include "http/server_private.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <event2/event.h>
#include <event2/util.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

/* After the last answer a client may go on sending for so long; closing at once could
 * take the answer away from them. */
#define LINGER_S 2.0

/* What the kernel keeps of a stream that its client does not read. */
#define STREAM_KERNEL_BYTES 65536

size_t conn_unwritten(const struct conn *c)
{
    return evbuffer_get_length(bufferevent_get_output(c->bev));
}

static void write_head(struct conn *c, int status, const char *content_type,
                       const struct str *headers, const char *length)
{
    struct evbuffer *out = bufferevent_get_output(c->bev);
    char date[50];

    evutil_date_rfc1123(date, sizeof(date), NULL);
    evbuffer_add_printf(out, "HTTP/1.1 %d %s\r\nDate: %s\r\n", status,
                        http_status_name(status), date);
    if (content_type)
        evbuffer_add_printf(
            out, "Content-Type: %s\r\nX-Content-Type-Options: nosniff\r\n", content_type);
    if (!strstr(str_text(headers), "Cache-Control:"))
        evbuffer_add_printf(out, "Cache-Control: no-store\r\n");
    evbuffer_add_printf(out, "%s%sConnection: %s\r\n\r\n", length, str_text(headers),
                        c->close_after ? "close" : "keep-alive");
}

/* Tell the other side that no more will come; it may still send. */
static void shut(struct conn *c)
{
    SSL *session = bufferevent_openssl_get_ssl(c->bev);

    c->shut = true;
    if (session)
        SSL_shutdown(session); /* or the other side takes the end for an accident */
    shutdown(bufferevent_getfd(c->bev), SHUT_WR);
}

void conn_finish(struct conn *c)
{
    conn_set_phase(c, CONN_CLOSING, c->server->config.limits.write_s + LINGER_S);
    c->close_after = true;
    if (conn_unwritten(c) > 0)
        return;
    if (!c->shut) {
        shut(c);
        reactor_timer_after(c->timer, LINGER_S);
    }
    if (c->ended)
        reactor_timer_after(c->timer, 0);
}

void conn_answer(struct conn *c, int status, const char *content_type,
                 const struct str *headers, const void *bytes, size_t count)
{
    bool head_only = c->request && c->request->head.method == HTTP_HEAD;
    bool more = conn_readable(c) > 0;
    char length[64] = "";

    if (c->server->drain_timer || (c->ended && !more))
        c->close_after = true;
    if (status != 204 && status != 304)
        snprintf(length, sizeof(length), "Content-Length: %zu\r\n", count);
    write_head(c, status, content_type, headers, length);
    if (!head_only && count > 0)
        bufferevent_write(c->bev, bytes, count);
    c->request = NULL;
    if (c->close_after) {
        conn_finish(c);
        return;
    }
    conn_set_phase(c, CONN_HEAD, c->server->config.limits.idle_s);
    if (more)
        bufferevent_trigger(c->bev, EV_READ,
                            BEV_TRIG_IGNORE_WATERMARKS | BEV_OPT_DEFER_CALLBACKS);
}

/* ---- answers without an end -------------------------------------------------------- */

struct streaming_reply *streaming_reply_begin(struct request *r, const char *content_type,
                                              const struct streaming_reply_events *told,
                                              void *ctx, double patience_s)
{
    const int kernel_bytes = STREAM_KERNEL_BYTES;
    struct conn *c = r->conn;

    if (!c || c->ended || r->head.method == HTTP_HEAD) {
        request_answer_bytes(r, 200, content_type, "", 0);
        return NULL;
    }
    request_count(r, 200);
    c->stream = (struct streaming_reply){.conn = c, .events = told, .ctx = ctx};
    setsockopt(bufferevent_getfd(c->bev), SOL_SOCKET, SO_SNDBUF, &kernel_bytes,
               sizeof(kernel_bytes));
    conn_set_patience(c, patience_s);
    c->close_after = true;
    write_head(c, 200, content_type, &r->headers, "");
    c->request = NULL;
    conn_set_phase(c, CONN_STREAM, 0);
    request_destroy(r);
    return &c->stream;
}

void streaming_reply_write(struct streaming_reply *p, const void *bytes, size_t count)
{
    bufferevent_write(p->conn->bev, bytes, count);
}

size_t streaming_reply_unwritten(const struct streaming_reply *p)
{
    return conn_unwritten(p->conn);
}

void streaming_reply_end(struct streaming_reply *p)
{
    p->events = NULL;
    conn_finish(p->conn);
}
