/* conn.c - one connection: requests in, answers out, one after the other; the last one
 * may be without an end
 *
 * listen.c gives it each socket it has accepted.  Heads and bodies go through request.c
 * to their handlers; the answers come from there, and sse.c streams events.
 *
 * A phase lasts no longer than its limit.  Handlers answer from inside conn_advance() or
 * much later; either way the next request, if it has been sent already, is read from the
 * reactor, never from within the answer.  libevent has the buffers and calls back from
 * the reactor too, never from within a call of its functions. */
#include "http/server_private.h"

#include "base/mem.h"
#include "http/body_reader.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <event2/event.h>
#include <event2/util.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* What a client may send ahead of being asked: more stays with the kernel. */
#define READ_AHEAD_BYTES 65536

/* A refused body that is larger than that keeps its sender waiting so long, for each so
 * many that wait already: however many send however fast, no more than a few such bodies
 * a second have to be read away. */
#define PAUSE_S     0.5
#define PAUSED_MANY 8

/* So many of the largest bodies are read away: many clients hear the answer only when
 * they have sent all. */
#define DROP_BODIES 4

size_t conn_readable(const struct conn *c)
{
    return evbuffer_get_length(bufferevent_get_input(c->bev));
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
    LIST_REMOVE(c, link);
    s->stats.connections--;
    s->paused -= c->phase == CONN_PAUSE;
    let_go(c);
    if (c->stream.events)
        c->stream.events->gone(c->stream.ctx);
    reactor_event_destroy(c->timer);
    /* Deferred callbacks may be under way; libevent keeps bev for them, not c. */
    bufferevent_setcb(c->bev, NULL, NULL, NULL, NULL);
    bufferevent_free(c->bev);
    free(c);
    if (s->drain_timer && s->drained && s->stats.connections == 0)
        reactor_timer_after(s->drain_timer, 0);
}

bool conn_idle(const struct conn *c)
{
    return c->phase == CONN_HEAD && conn_readable(c) == 0;
}

void conn_set_phase(struct conn *c, enum conn_phase phase, double limit_s)
{
    c->phase = phase;
    if (limit_s > 0)
        reactor_timer_after(c->timer, limit_s);
    else
        reactor_timer_cancel(c->timer);
}

/* Let a body of that size come in, or any head. */
static void read_ahead(struct conn *c, size_t body_bytes)
{
    size_t most = c->server->config.limits.head_bytes + 1;

    most = most > READ_AHEAD_BYTES ? most : READ_AHEAD_BYTES;
    bufferevent_setwatermark(c->bev, EV_READ, 0, body_bytes > most ? body_bytes : most);
}

/* ---- requests ---------------------------------------------------------------------- */

static void send_refusal(struct conn *c)
{
    struct request *r = c->request;

    request_count(r, r->refused);
    conn_answer(c, r->refused, r->refusal.length ? "application/json" : NULL, &r->headers,
                r->refusal.text, r->refusal.length);
    request_destroy(r);
}

/* Something is wrong with what came before there was a whole head. */
static void refuse_early(struct conn *c, int status, const char *code, const char *why)
{
    if (!c->request)
        c->request = request_create(c);
    request_refuse(c->request, status, code, NULL, "%s", why);
    c->close_after = true;
    send_refusal(c);
}

/* Refused for sure; a body that is small is read away, so that the connection can go on.
 * To read large ones only to drop them would cost what the refusal saves: whoever sends
 * one waits for the answer. */
static void refuse_head(struct conn *c)
{
    struct request *r = c->request;

    if (r->head.length > READ_AHEAD_BYTES || r->head.expects_continue)
        c->close_after = true;
    if (r->head.length > READ_AHEAD_BYTES && !r->head.expects_continue) {
        bufferevent_disable(c->bev, EV_READ);
        conn_set_phase(c, CONN_PAUSE, PAUSE_S * (1 + c->server->paused++ / PAUSED_MANY));
        return;
    }
    if (c->close_after || r->head.length == 0) {
        send_refusal(c);
        return;
    }
    c->skip = r->head.length;
    conn_set_phase(c, CONN_SKIP, c->server->config.limits.body_s);
}

void conn_body_read(struct request *r, bool good)
{
    const struct server *s = r->server;
    const struct route *route = r->match.route;

    if (good) {
        route->handle(s->config.ctx, r); /* it is the handler's now */
        reactor_did(s->reactor, route->operation);
    } else if (r->conn) {
        send_refusal(r->conn);
    } else { /* the client did not wait for it */
        request_count(r, r->refused);
        request_destroy(r);
    }
}

/* False: it is small enough to be read here. */
static bool read_elsewhere(struct server *s, struct request *r, const char *body)
{
    if (r->head.length <= BODY_READER_LARGE)
        return false;
    if (!s->reader)
        s->reader = body_reader_create(s->reactor);
    if (s->reader)
        body_reader_hand_over(s->reader, r, body, r->head.length);
    return s->reader != NULL;
}

static void hand_over(struct conn *c)
{
    struct request *r = c->request;
    struct server *s = c->server;
    struct evbuffer *in = bufferevent_get_input(c->bev);
    const char *body = (const char *)evbuffer_pullup(in, (ev_ssize_t)r->head.length);
    bool elsewhere = read_elsewhere(s, r, body);
    bool good = elsewhere || request_check_body(r, body, r->head.length);

    evbuffer_drain(in, r->head.length);
    read_ahead(c, 0);
    if (good) {
        r->handled = true;
        conn_set_phase(c, CONN_ANSWER, s->config.limits.answer_s);
    }
    if (!elsewhere)
        conn_body_read(r, good);
}

static void take_head(struct conn *c, size_t count)
{
    struct request *r = request_create(c);
    struct err err = {0};
    int status = 400;

    c->request = r;
    c->seen = 0;
    r->head_text = mem_array(char, count + 1);
    evbuffer_remove(bufferevent_get_input(c->bev), r->head_text, count);
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
    read_ahead(c, r->head.length);
    conn_set_phase(c, CONN_BODY, c->server->config.limits.body_s);
    if (r->head.expects_continue && conn_readable(c) < r->head.length)
        bufferevent_write(c->bev, "HTTP/1.1 100 Continue\r\n\r\n", 25);
}

/* Some clients end a body with one CR LF too many. */
static void drop_blank_lines(struct conn *c, struct evbuffer *in)
{
    char first[2];

    while (evbuffer_copyout(in, first, 2) == 2 && !memcmp(first, "\r\n", 2)) {
        evbuffer_drain(in, 2);
        c->seen = 0;
    }
}

/* Where the head ends in what has come; 0: not yet. */
static size_t find_head_end(struct conn *c, struct evbuffer *in)
{
    struct evbuffer_ptr from;

    evbuffer_ptr_set(in, &from, c->seen > 3 ? c->seen - 3 : 0, EVBUFFER_PTR_SET);
    c->seen = evbuffer_get_length(in);
    from = evbuffer_search(in, "\r\n\r\n", 4, &from);
    return from.pos < 0 ? 0 : (size_t)from.pos + 4;
}

static bool step_head(struct conn *c)
{
    const struct server_limits *limits = &c->server->config.limits;
    struct evbuffer *in = bufferevent_get_input(c->bev);
    bool fresh = c->seen == 0;
    size_t count;

    drop_blank_lines(c, in);
    if (conn_readable(c) == 0)
        return false;
    count = find_head_end(c, in);
    if (count > limits->head_bytes || (!count && conn_readable(c) > limits->head_bytes)) {
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
    if (conn_readable(c) < c->request->head.length)
        return false;
    hand_over(c);
    return true;
}

static size_t drop(struct conn *c, size_t most)
{
    size_t count = conn_readable(c) < most ? conn_readable(c) : most;

    evbuffer_drain(bufferevent_get_input(c->bev), count);
    return count;
}

static bool step_skip(struct conn *c)
{
    c->skip -= drop(c, c->skip);
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
    case CONN_PAUSE:
        return false;
    case CONN_STREAM:
    case CONN_CLOSING:
        c->dropped += drop(c, conn_readable(c));
        if (c->dropped > DROP_BODIES * c->server->config.limits.body_bytes)
            bufferevent_disable(c->bev, EV_READ);
        return false;
    }
    return false;
}

static bool wants_input(const struct conn *c)
{
    return c->phase == CONN_HEAD || c->phase == CONN_BODY || c->phase == CONN_SKIP;
}

/* An answer may be given far inside, and the client may be found gone there.  A client
 * that only sends no more still hears the answer that is on its way. */
static void conn_advance(struct conn *c)
{
    c->busy++;
    while (!c->doomed && step(c)) {
    }
    c->busy--;
    if (c->doomed || (c->ended && wants_input(c) && conn_unwritten(c) == 0))
        conn_destroy(c);
    else if (c->ended && wants_input(c))
        conn_finish(c);
}

/* ---- what libevent tells ----------------------------------------------------------- */

static void on_readable(struct bufferevent *bev, void *ctx)
{
    (void)bev;
    conn_advance(ctx);
}

static void on_written(struct bufferevent *bev, void *ctx)
{
    struct conn *c = ctx;

    (void)bev;
    if (c->phase == CONN_CLOSING)
        conn_finish(c);
    else if (c->phase == CONN_STREAM && c->stream.events)
        c->stream.events->written(c->stream.ctx);
}

static void on_event(struct bufferevent *bev, short what, void *ctx)
{
    struct conn *c = ctx;
    const short closed = BEV_EVENT_EOF | BEV_EVENT_READING; /* may still read */

    (void)bev;
    if (what & BEV_EVENT_CONNECTED)
        return; /* the end of a TLS handshake */
    c->ended = true;
    if ((what & BEV_EVENT_TIMEOUT) || (what & closed) != closed ||
        c->phase == CONN_STREAM)
        conn_destroy(c);
    else if (c->phase == CONN_CLOSING)
        conn_finish(c);
    else
        conn_advance(c);
}

static void on_limit(void *ctx)
{
    struct conn *c = ctx;
    struct request *r = c->request;

    switch (c->phase) {
    case CONN_HEAD:
        if (c->seen > 0)
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
        c->request = request_create(c);
        c->request->identity = r->identity;
        r->conn = NULL;
        refuse_early(c, 503, "timeout", "the answer takes too long; ask again later");
        break;
    case CONN_PAUSE:
        c->server->paused--;
        bufferevent_enable(c->bev, EV_READ);
        send_refusal(c);
        break;
    case CONN_STREAM:
        break;
    case CONN_CLOSING:
        conn_destroy(c);
        break;
    }
}

static struct bufferevent *open_buffers(const struct listener *l, int fd)
{
    const int options = BEV_OPT_CLOSE_ON_FREE | BEV_OPT_DEFER_CALLBACKS;
    struct event_base *base = reactor_base(l->server->reactor);
    struct bufferevent *bev;

    if (!l->tls)
        return bufferevent_socket_new(base, fd, options);
    bev = bufferevent_openssl_socket_new(base, fd, SSL_new(l->tls),
                                         BUFFEREVENT_SSL_ACCEPTING, options);
    if (bev)
        bufferevent_openssl_set_allow_dirty_shutdown(bev, 1);
    return bev;
}

void conn_set_patience(struct conn *c, double write_s)
{
    const struct timeval limit = reactor_time(write_s);

    bufferevent_set_timeouts(c->bev, NULL, write_s > 0 ? &limit : NULL);
}

void conn_accept(const struct listener *l, int fd, const char *peer,
                 const struct auth_identity *who)
{
    struct server *s = l->server;
    struct bufferevent *bev = open_buffers(l, fd);
    struct conn *c;

    if (!bev) {
        close(fd);
        return;
    }
    c = mem_new(struct conn);
    c->server = s;
    c->bev = bev;
    c->is_local = l->local;
    c->local = *who;
    str_copy(c->peer, sizeof(c->peer), peer);
    bufferevent_setcb(bev, on_readable, on_written, on_event, c);
    read_ahead(c, 0);
    conn_set_patience(c, s->config.limits.write_s);
    bufferevent_enable(bev, EV_READ | EV_WRITE);
    c->timer = reactor_timer_create(s->reactor, on_limit, c);
    reactor_timer_after(c->timer,
                        l->tls ? s->config.limits.head_s : s->config.limits.idle_s);
    LIST_INSERT_HEAD(&s->conns, c, link);
    s->stats.connections++;
}
