/* conn.c - one connection: requests in, answers out, one after the other; the last one
 * may be without an end (streaming_reply.h)
 *
 * A phase lasts no longer than its limit.  Handlers answer from inside conn_advance() or
 * much later; either way the next request, if it has been sent already, is read from the
 * reactor, never from within the answer. */
#include "http/server_private.h"

#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* After the last answer a client may go on sending for so long; closing at once could
 * take the answer away from them. */
#define LINGER_S 2.0

static void unlink_conn(struct conn *c)
{
    *c->link = c->next;
    if (c->next)
        c->next->link = c->link;
}

/* The handler, if one has the request, will answer into the void. */
static void let_go(struct conn *c)
{
    struct request *r = c->request;

    c->request = NULL;
    if (!r)
        return;
    r->conn = NULL;
    if (!r->handled)
        request_destroy(r);
}

void conn_destroy(struct conn *c)
{
    struct server *s = c->server;

    if (c->busy > 0) {
        c->doomed = true;
        return;
    }
    unlink_conn(c);
    s->stats.connections--;
    if (c->phase == CONN_PUSH)
        s->stats.streams--;
    let_go(c);
    if (c->push.events)
        c->push.events->gone(c->push.ctx);
    reactor_timer_destroy(c->timer);
    socket_stream_destroy(c->stream);
    str_fini(&c->in);
    free(c);
    server_conn_gone(s);
}

bool conn_idle(const struct conn *c)
{
    return c->phase == CONN_HEAD && c->in.length == 0 &&
           socket_stream_readable(c->stream) == 0;
}

static void set_phase(struct conn *c, enum conn_phase phase, double limit_s)
{
    if (c->phase == CONN_PUSH && phase != CONN_PUSH)
        c->server->stats.streams--;
    c->phase = phase;
    if (limit_s > 0)
        reactor_timer_after(c->timer, limit_s);
    else
        reactor_timer_cancel(c->timer);
}

static void use(struct conn *c, size_t count)
{
    if (count == 0)
        return;
    memmove(c->in.text, c->in.text + count, c->in.length - count + 1);
    c->in.length -= count;
    c->in_seen = 0;
}

/* ---- answers ----------------------------------------------------------------------- */

static void write_head(struct conn *c, int status, const char *content_type,
                       const struct str *headers, const char *length)
{
    struct str head = {0};

    str_addf(&head, "HTTP/1.1 %d %s\r\nDate: %s\r\n", status, http_status_name(status),
             server_date(c->server));
    if (content_type)
        str_addf(&head, "Content-Type: %s\r\nX-Content-Type-Options: nosniff\r\n",
                 content_type);
    str_addf(&head, "Cache-Control: no-store\r\n%s%s", length, str_text(headers));
    str_add(&head, c->close_after ? "Connection: close\r\n\r\n"
                                  : "Connection: keep-alive\r\n\r\n");
    socket_stream_write(c->stream, head.text, head.length);
    str_fini(&head);
}

static void conn_finish(struct conn *c)
{
    set_phase(c, CONN_CLOSING, c->server->config.limits.write_s + LINGER_S);
    c->close_after = true;
    if (socket_stream_unwritten(c->stream) == 0 && !c->shut) {
        c->shut = true;
        socket_stream_shut(c->stream);
        reactor_timer_after(c->timer, LINGER_S);
    }
    if (c->ended && socket_stream_unwritten(c->stream) == 0)
        reactor_timer_after(c->timer, 0);
}

void conn_answer(struct conn *c, int status, const char *content_type,
                 const struct str *headers, const void *bytes, size_t count)
{
    bool head_only = c->request && c->request->head.method == HTTP_HEAD;
    bool more = c->in.length > 0 || socket_stream_readable(c->stream) > 0;
    char length[64] = "";

    if (c->server->drain_timer || (c->ended && !more))
        c->close_after = true;
    if (status != 204 && status != 304)
        snprintf(length, sizeof(length), "Content-Length: %zu\r\n", count);
    write_head(c, status, content_type, headers, length);
    if (!head_only && count > 0)
        socket_stream_write(c->stream, bytes, count);
    c->request = NULL;
    if (c->close_after) {
        conn_finish(c);
        return;
    }
    set_phase(c, CONN_HEAD, c->server->config.limits.idle_s);
    if (more)
        socket_stream_kick(c->stream);
}

/* ---- requests ---------------------------------------------------------------------- */

static void send_refusal(struct conn *c)
{
    struct request *r = c->request;

    c->server->stats.refused++;
    request_count(r, r->refused);
    conn_answer(c, r->refused, r->refusal.length ? "application/json" : NULL, &r->headers,
                r->refusal.text, r->refusal.length);
    request_destroy(r);
}

/* Something is wrong with what came before there was a whole head. */
static void refuse_early(struct conn *c, int status, const char *code, const char *why)
{
    if (!c->request)
        c->request = request_create(c, "", 0);
    request_refuse(c->request, status, code, NULL, "%s", why);
    c->close_after = true;
    send_refusal(c);
}

/* Refused for sure; a body that is small enough is read away, so that the connection can
 * go on. */
static void refuse_head(struct conn *c)
{
    struct request *r = c->request;

    if (r->head.length > c->server->config.limits.body_bytes || r->head.expects_continue)
        c->close_after = true;
    if (c->close_after || r->head.length == 0) {
        send_refusal(c);
        return;
    }
    c->skip = r->head.length;
    set_phase(c, CONN_SKIP, c->server->config.limits.body_s);
}

static void hand_over(struct conn *c)
{
    struct request *r = c->request;
    const struct server *s = c->server;
    const char *operation;

    if (!request_check_body(r, c->in.text, r->head.length)) {
        use(c, r->head.length);
        send_refusal(c);
        return;
    }
    use(c, r->head.length);
    r->handled = true;
    set_phase(c, CONN_ANSWER, s->config.limits.answer_s);
    operation = r->match.route->operation;
    r->match.route->handle(s->config.ctx, r); /* it is the handler's now */
    reactor_did(s->reactor, operation);
}

static void take_head(struct conn *c, size_t count)
{
    const struct server_limits *limits = &c->server->config.limits;
    struct request *r = request_create(c, c->in.text, count);
    struct err err = {0};
    int status = 400;

    c->request = r;
    c->server->stats.requests++;
    use(c, count);
    if (head_parse(&r->head, r->head_text, count, &status, &err) < 0) {
        refuse_early(c, status, err_code_name(err.code), err.text);
        return;
    }
    r->path = mem_strdup(r->head.path);
    c->close_after = !r->head.keep_alive;
    if (!request_check_head(r)) {
        refuse_head(c);
        return;
    }
    set_phase(c, CONN_BODY, limits->body_s);
    if (r->head.expects_continue && c->in.length < r->head.length)
        socket_stream_write(c->stream, "HTTP/1.1 100 Continue\r\n\r\n", 25);
}

static bool step_head(struct conn *c)
{
    const struct server_limits *limits = &c->server->config.limits;
    bool fresh = c->in.length == 0;
    size_t count;

    if (c->in.length <= limits->head_bytes)
        socket_stream_read(c->stream, &c->in, limits->head_bytes + 1 - c->in.length);
    while (c->in.length >= 2 && !memcmp(c->in.text, "\r\n", 2))
        use(c, 2); /* some clients end a body with one too many */
    if (c->in.length == 0)
        return false;
    count = head_end(c->in.text, c->in.length, &c->in_seen);
    if (count > limits->head_bytes || (!count && c->in.length > limits->head_bytes)) {
        refuse_early(c, 431, "limit", "the request line and headers are too large");
        return false;
    }
    if (count) {
        take_head(c, count);
        return true;
    }
    if (fresh)
        reactor_timer_after(c->timer, limits->head_s);
    return false;
}

static bool step_body(struct conn *c)
{
    size_t wanted = c->request->head.length;

    if (c->in.length < wanted)
        socket_stream_read(c->stream, &c->in, wanted - c->in.length);
    if (c->in.length < wanted)
        return false;
    hand_over(c);
    return true;
}

static bool step_skip(struct conn *c)
{
    size_t here = c->in.length < c->skip ? c->in.length : c->skip;

    use(c, here);
    c->skip -= here;
    c->skip -= socket_stream_skip(c->stream, c->skip);
    if (c->skip > 0)
        return false;
    send_refusal(c);
    return true;
}

/* One step further; false when there is nothing more to do for now. */
static bool step(struct conn *c)
{
    switch (c->phase) {
    case CONN_HEAD:
        return step_head(c);
    case CONN_BODY:
        return step_body(c);
    case CONN_SKIP:
        return step_skip(c);
    case CONN_ANSWER:
        return false;
    case CONN_PUSH:
    case CONN_CLOSING:
        socket_stream_skip(c->stream, socket_stream_readable(c->stream));
        return false;
    }
    return false;
}

static bool wants_input(const struct conn *c)
{
    return c->phase == CONN_HEAD || c->phase == CONN_BODY || c->phase == CONN_SKIP;
}

/* An answer may be given far inside, and the client may be found gone there. */
static void conn_advance(struct conn *c)
{
    c->busy++;
    while (!c->doomed && step(c)) {
    }
    c->busy--;
    if (c->doomed || (c->ended && wants_input(c)))
        conn_destroy(c);
}

/* ---- what the stream tells --------------------------------------------------------- */

static void on_readable(void *ctx)
{
    conn_advance(ctx);
}

static void on_written(void *ctx)
{
    struct conn *c = ctx;

    if (c->phase == CONN_CLOSING)
        conn_finish(c);
    else if (c->phase == CONN_PUSH && c->push.events)
        c->push.events->written(c->push.ctx);
}

static void on_ended(void *ctx, enum socket_stream_end how)
{
    struct conn *c = ctx;

    c->ended = true;
    if (how != SOCKET_STREAM_CLOSED || c->phase == CONN_PUSH) {
        conn_destroy(c);
        return;
    }
    if (c->phase == CONN_CLOSING)
        conn_finish(c);
    else
        conn_advance(c);
}

static const struct socket_stream_events events = {on_readable, on_written, on_ended};

static void on_limit(void *ctx)
{
    struct conn *c = ctx;
    struct request *r = c->request;

    switch (c->phase) {
    case CONN_HEAD:
        if (c->in.length > 0)
            refuse_early(c, 408, "timeout", "the request took too long to arrive");
        else
            conn_destroy(c);
        break;
    case CONN_BODY:
    case CONN_SKIP:
        refuse_early(c, 408, "timeout", "the body took too long to arrive");
        break;
    case CONN_ANSWER:
        /* The handler keeps the request; its answer will be dropped. */
        c->request = request_create(c, "", 0);
        c->request->identity = r->identity;
        r->conn = NULL;
        refuse_early(c, 503, "timeout", "the answer takes too long; ask again later");
        break;
    case CONN_PUSH:
        break;
    case CONN_CLOSING:
        conn_destroy(c);
        break;
    }
}

void conn_accept(struct server *s, const struct listener *l, int fd, const char *peer,
                 const struct auth_identity *who)
{
    struct conn *c = mem_new(struct conn);

    c->server = s;
    c->is_local = l->local;
    str_copy(c->peer, sizeof(c->peer), peer);
    c->local = *who;
    c->stream = socket_stream_create(s->reactor, fd, l->tls, &events, c);
    if (!c->stream) {
        free(c);
        return;
    }
    socket_stream_patience(c->stream, s->config.limits.write_s);
    c->timer = reactor_timer_create(s->reactor, on_limit, c);
    reactor_timer_after(c->timer,
                        l->tls ? s->config.limits.head_s : s->config.limits.idle_s);
    c->next = s->conns;
    c->link = &s->conns;
    if (c->next)
        c->next->link = &c->next;
    s->conns = c;
    s->stats.connections++;
    s->stats.accepted++;
}

/* ---- answers without an end -------------------------------------------------------- */

/* What the kernel keeps of a client that does not read. */
#define KERNEL_BYTES 65536

struct streaming_reply *streaming_reply_begin(struct request *r, const char *content_type,
                                              const struct streaming_reply_events *told,
                                              void *ctx)
{
    struct conn *c = r->conn;

    if (!c || c->ended || r->head.method == HTTP_HEAD) {
        request_answer_bytes(r, 200, content_type, "", 0);
        return NULL;
    }
    request_count(r, 200);
    c->push = (struct streaming_reply){.conn = c, .events = told, .ctx = ctx};
    socket_stream_small_buffer(c->stream, KERNEL_BYTES);
    c->close_after = true;
    write_head(c, 200, content_type, &r->headers, "");
    c->request = NULL;
    set_phase(c, CONN_PUSH, 0);
    c->server->stats.streams++;
    request_destroy(r);
    return &c->push;
}

void streaming_reply_write(struct streaming_reply *p, const void *bytes, size_t count)
{
    socket_stream_write(p->conn->stream, bytes, count);
}

size_t streaming_reply_unwritten(const struct streaming_reply *p)
{
    return socket_stream_unwritten(p->conn->stream);
}

void streaming_reply_patience(struct streaming_reply *p, double seconds)
{
    socket_stream_patience(p->conn->stream, seconds);
}

void streaming_reply_end(struct streaming_reply *p)
{
    p->events = NULL;
    conn_finish(p->conn);
}
