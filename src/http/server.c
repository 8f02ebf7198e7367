/* server.c - corgid makes one server: it takes its config and a new one when that is
 * reloaded, and drains at the end; listen.c and conn.c do the work in between */
#include "http/server.h"

#include "base/mem.h"
#include "http/body_reader.h"
#include "http/server_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RATE_BUCKETS  10000
#define BYTES_BURST_S 4

/* ---- configuration ----------------------------------------------------------------- */

static void complete(struct server_limits *l)
{
    int share;

    l->head_bytes = l->head_bytes ? l->head_bytes : 16384;
    l->body_bytes = l->body_bytes ? l->body_bytes : 1 << 20;
    l->connections = l->connections ? l->connections : 4096;
    share = l->connections > 4 ? l->connections / 4 : l->connections;
    if (!l->connections_each || l->connections_each > share)
        l->connections_each = share;
    l->head_s = l->head_s > 0 ? l->head_s : 10;
    l->body_s = l->body_s > 0 ? l->body_s : 30;
    l->idle_s = l->idle_s > 0 ? l->idle_s : 75;
    l->answer_s = l->answer_s > 0 ? l->answer_s : 60;
    l->write_s = l->write_s > 0 ? l->write_s : 30;
    l->burst = l->burst > 0 ? l->burst : 2 * l->requests_per_s;
}

static void use_config(struct server *s, const struct server_config *config)
{
    const struct server_limits *l = &s->config.limits;

    s->config = *config;
    complete(&s->config.limits);
    memset(s->accounts, 0, sizeof(s->accounts));
    auth_rate_destroy(s->rate);
    auth_rate_destroy(s->bytes);
    s->rate = s->bytes = NULL;
    if (l->requests_per_s > 0)
        s->rate = auth_rate_create(l->requests_per_s, l->burst, RATE_BUCKETS);
    if (l->bytes_per_s > 0)
        s->bytes = auth_rate_create(
            l->bytes_per_s, fmax(BYTES_BURST_S * l->bytes_per_s, (double)l->body_bytes),
            RATE_BUCKETS);
}

struct server *server_create(struct reactor *r, const struct server_config *config)
{
    struct server *s = mem_new(struct server);

    s->reactor = r;
    use_config(s, config);
    return s;
}

/* ---- running ----------------------------------------------------------------------- */

int server_reload(struct server *s, const struct server_config *config, struct err *err)
{
    const struct route *routes = s->config.routes;

    if (listeners_read_certificates(s, err) < 0)
        return -1;
    use_config(s, config);
    s->config.routes = routes;
    return 0;
}

static void drain_over(void *ctx)
{
    struct server *s = ctx;
    void (*done)(void *) = s->drained;

    s->drained = NULL;
    if (done)
        done(s->drained_ctx);
}

void server_drain(struct server *s, double patience_s, void (*done)(void *ctx), void *ctx)
{
    struct conn *c, *next;

    if (s->drain_timer)
        return;
    listeners_close(s);
    s->drained = done;
    s->drained_ctx = ctx;
    s->drain_timer = reactor_timer_create(s->reactor, drain_over, s);
    reactor_timer_after(s->drain_timer, patience_s);
    for (c = LIST_FIRST(&s->conns); c; c = next) {
        next = LIST_NEXT(c, link);
        if (conn_idle(c))
            conn_destroy(c);
    }
    if (s->stats.connections == 0)
        reactor_timer_after(s->drain_timer, 0);
}

void server_destroy(struct server *s)
{
    struct request *r;

    if (!s)
        return;
    listeners_close(s);
    reactor_event_destroy(s->drain_timer);
    s->drain_timer = NULL;
    while (!LIST_EMPTY(&s->conns))
        conn_destroy(LIST_FIRST(&s->conns));
    body_reader_destroy(s->reader);
    LIST_FOREACH (r, &s->requests, link)
        r->server = NULL;
    auth_rate_destroy(s->rate);
    auth_rate_destroy(s->bytes);
    vec_free(&s->listeners);
    free(s);
}

void server_stats(const struct server *s, struct server_stats *stats)
{
    *stats = s->stats;
}
