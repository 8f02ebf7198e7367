/* server.c - corgid makes one server: it listens, accepts connections and gives them to
 * conn.c, takes a new config, and drains at the end */
#include "http/server.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "http/server_private.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define ACCEPT_AT_ONCE 64
#define RATE_BUCKETS   10000
#define REST_S         0.5 /* after the system had no descriptor left */

/* ---- configuration ----------------------------------------------------------------- */

static void complete(struct server_limits *l)
{
    const struct server_limits usual = {.head_bytes = 16384,
                                        .body_bytes = 1 << 20,
                                        .connections = 4096,
                                        .head_s = 10,
                                        .body_s = 30,
                                        .idle_s = 75,
                                        .answer_s = 60,
                                        .write_s = 30};

    l->head_bytes = l->head_bytes ? l->head_bytes : usual.head_bytes;
    l->body_bytes = l->body_bytes ? l->body_bytes : usual.body_bytes;
    l->connections = l->connections ? l->connections : usual.connections;
    if (!l->connections_each)
        l->connections_each = l->connections > 4 ? l->connections / 4 : l->connections;
    l->head_s = l->head_s > 0 ? l->head_s : usual.head_s;
    l->body_s = l->body_s > 0 ? l->body_s : usual.body_s;
    l->idle_s = l->idle_s > 0 ? l->idle_s : usual.idle_s;
    l->answer_s = l->answer_s > 0 ? l->answer_s : usual.answer_s;
    l->write_s = l->write_s > 0 ? l->write_s : usual.write_s;
    l->burst = l->burst > 0 ? l->burst : 2 * l->requests_per_s;
}

static const char *const *copy_list(const char *const *list)
{
    size_t count = 0;
    char **copy;

    while (list && list[count])
        count++;
    if (!count)
        return NULL;
    copy = mem_array(char *, count + 1);
    for (size_t i = 0; i < count; i++)
        copy[i] = mem_strdup(list[i]);
    return (const char *const *)copy;
}

static void free_list(const char *const *list)
{
    union {
        const char *const *ours;
        char **theirs;
    } same = {.ours = list};

    for (char **item = same.theirs; item && *item; item++)
        free(*item);
    free(same.theirs);
}

static void forget_config(struct server *s)
{
    free_list(s->config.auth.operators);
    free_list(s->config.auth.operator_groups);
    free_list(s->config.auth.viewers);
    auth_rate_destroy(s->rate);
    s->rate = NULL;
    memset(s->accounts, 0, sizeof(s->accounts));
}

static void use_config(struct server *s, const struct server_config *config)
{
    const struct server_limits *l = &s->config.limits;

    s->config = *config;
    s->config.auth.operators = copy_list(config->auth.operators);
    s->config.auth.operator_groups = copy_list(config->auth.operator_groups);
    s->config.auth.viewers = copy_list(config->auth.viewers);
    complete(&s->config.limits);
    if (l->requests_per_s > 0)
        s->rate = auth_rate_create(l->requests_per_s, l->burst, RATE_BUCKETS);
}

struct server *server_create(struct reactor *r, const struct server_config *config,
                             struct err *err)
{
    struct server *s;

    if (route_check(config->routes, err) < 0)
        return NULL;
    s = mem_new(struct server);
    s->reactor = r;
    use_config(s, config);
    return s;
}

/* ---- who ----------------------------------------------------------------------------
 */

static int find_local(struct server *s, int fd, struct auth_identity *identity)
{
    struct auth_identity who;
    struct local_account *account;
    double now_s = clock_wall_s();

    if (auth_peer(fd, &who, NULL) < 0)
        return -1;
    account = &s->accounts[who.uid % SERVER_ACCOUNTS];
    if (now_s >= account->until_s || account->who.uid != who.uid ||
        account->who.gid != who.gid) {
        account->who = who;
        auth_account(&s->config.auth, &account->who);
        account->until_s = now_s + SERVER_ACCOUNT_S;
    }
    *identity = account->who;
    identity->pid = who.pid;
    return 0;
}

static bool same_host(const char *a, const char *b)
{
    const char *a_end = strrchr(a, ':'), *b_end = strrchr(b, ':');

    return a_end && b_end && a_end - a == b_end - b &&
           !strncmp(a, b, (size_t)(a_end - a));
}

/* Does this user or address have its share of connections already? */
static bool has_its_share(const struct server *s, const struct auth_identity *who,
                          const char *peer)
{
    int count = 0;

    if (who && who->role == AUTH_OPERATOR)
        return false;
    for (const struct conn *c = s->conns; c; c = c->next)
        count += who ? c->is_local && c->local.uid == who->uid : same_host(c->peer, peer);
    return count >= s->config.limits.connections_each;
}

/* ---- listeners --------------------------------------------------------------------- */

static void on_connection(void *ctx);

static void end_rest(void *ctx)
{
    struct listener *l = ctx;

    l->watch = reactor_watch_create(l->server->reactor, l->fd, on_connection, l);
}

static void take_a_rest(struct listener *l)
{
    log_warn("accept_failed", LOG_STR("error", strerror(errno)));
    reactor_watch_destroy(l->watch);
    l->watch = NULL;
    reactor_timer_after(l->rest, REST_S);
}

static void peer_name(const struct sockaddr_storage *address, char *out, size_t size)
{
    char host[INET6_ADDRSTRLEN] = "";
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)address;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)address;

    if (address->ss_family == AF_INET) {
        inet_ntop(AF_INET, &v4->sin_addr, host, sizeof(host));
        snprintf(out, size, "%s:%d", host, ntohs(v4->sin_port));
    } else if (address->ss_family == AF_INET6) {
        inet_ntop(AF_INET6, &v6->sin6_addr, host, sizeof(host));
        snprintf(out, size, "[%s]:%d", host, ntohs(v6->sin6_port));
    } else {
        str_copy(out, size, "unix");
    }
}

static void turn_away(const struct listener *l, int fd)
{
    static const char answer[] =
        "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\n"
        "Content-Length: 70\r\nRetry-After: 1\r\nConnection: close\r\n\r\n"
        "{\"error\":{\"code\":\"limit\",\"message\":\"too many connections; try "
        "later\"}}";

    l->server->stats.refused_connections++;
    if (!l->tls && send(fd, answer, strlen(answer), MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
        /* then it learns from the closed connection */
    }
    close(fd);
}

static void on_connection(void *ctx)
{
    struct listener *l = ctx;
    struct server *s = l->server;
    const int one = 1;

    for (int i = 0; i < ACCEPT_AT_ONCE; i++) {
        struct sockaddr_storage address = {0};
        struct auth_identity who = {.uid = AUTH_NO_ID};
        socklen_t size = sizeof(address);
        char peer[REQUEST_PEER_SIZE];
        int fd = accept4(l->fd, (struct sockaddr *)&address, &size,
                         SOCK_NONBLOCK | SOCK_CLOEXEC);

        if (fd < 0 &&
            (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM))
            take_a_rest(l);
        if (fd < 0)
            return;
        peer_name(&address, peer, sizeof(peer));
        if (!l->local)
            setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
        if (s->stats.connections >= s->config.limits.connections ||
            (l->local && find_local(s, fd, &who) < 0) ||
            has_its_share(s, l->local ? &who : NULL, peer))
            turn_away(l, fd);
        else
            conn_accept(s, l, fd, peer, &who);
    }
}

static struct listener *add_listener(struct server *s, int fd, bool local)
{
    struct listener *l = mem_new(struct listener);

    l->server = s;
    l->fd = fd;
    l->local = local;
    l->file = (struct listen_unix){.fd = -1, .lock_fd = -1};
    l->rest = reactor_timer_create(s->reactor, end_rest, l);
    l->watch = reactor_watch_create(s->reactor, fd, on_connection, l);
    vec_push(&s->listeners, l);
    return l;
}

static void close_listener(struct listener *l)
{
    reactor_watch_destroy(l->watch);
    reactor_timer_destroy(l->rest);
    if (l->file.path)
        listen_unix_close(&l->file);
    else
        close(l->fd);
    tls_destroy(l->tls);
    free(l->certificate);
    free(l->key);
    free(l);
}

static void close_listeners(struct server *s)
{
    vec_each (struct listener *, l, &s->listeners)
        close_listener(*l);
    vec_clear(&s->listeners);
}

int server_listen_unix(struct server *s, const struct server_unix *where, struct err *err)
{
    struct listen_unix file;

    if (listen_unix_open(&file, where, err) < 0)
        return -1;
    add_listener(s, file.fd, true)->file = file;
    return 0;
}

int server_listen_tcp(struct server *s, const struct server_tcp *where, struct err *err)
{
    struct tls *tls = NULL;
    struct listener *l;
    int fd;

    if (!where->certificate != !where->key)
        return err_set(err, ERR_INVALID, "%s needs both a certificate and its key",
                       where->address);
    if (where->certificate && !(tls = tls_create(where->certificate, where->key, err)))
        return -1;
    if (listen_tcp_open(where, &fd, err) < 0) {
        tls_destroy(tls);
        return -1;
    }
    l = add_listener(s, fd, false);
    l->tls = tls;
    if (tls) {
        l->certificate = mem_strdup(where->certificate);
        l->key = mem_strdup(where->key);
    }
    return 0;
}

int server_listen_fd(struct server *s, int fd, struct err *err)
{
    struct sockaddr_storage address;
    socklen_t size = sizeof(address);
    int listening = 0;
    socklen_t listening_size = sizeof(listening);

    if (getsockname(fd, (struct sockaddr *)&address, &size) < 0 ||
        getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &listening_size) < 0 ||
        !listening)
        return err_set(err, ERR_INVALID, "descriptor %d is not a listening socket", fd);
    add_listener(s, fd, address.ss_family == AF_UNIX);
    return 0;
}

int server_port(const struct server *s, int nth)
{
    for (size_t i = 0; i < s->listeners.count; i++) {
        int port = listen_port(s->listeners.items[i]->fd);

        if (port >= 0 && nth-- == 0)
            return port;
    }
    return -1;
}

/* ---- running ----------------------------------------------------------------------- */

int server_reload(struct server *s, const struct server_config *config, struct err *err)
{
    vec_of(struct tls *) fresh = {0};
    const struct route *routes = s->config.routes;

    vec_each (struct listener *, l, &s->listeners) {
        struct tls *tls = NULL;

        if ((*l)->tls && !(tls = tls_create((*l)->certificate, (*l)->key, err))) {
            vec_each (struct tls *, made, &fresh)
                tls_destroy(*made);
            vec_free(&fresh);
            return -1;
        }
        vec_push(&fresh, tls);
    }
    for (size_t i = 0; i < fresh.count; i++) {
        tls_destroy(s->listeners.items[i]->tls);
        s->listeners.items[i]->tls = fresh.items[i];
    }
    vec_free(&fresh);
    forget_config(s);
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

void server_conn_gone(struct server *s)
{
    if (s->drain_timer && s->drained && s->stats.connections == 0)
        reactor_timer_after(s->drain_timer, 0);
}

void server_drain(struct server *s, double patience_s, void (*done)(void *ctx), void *ctx)
{
    struct conn *next;

    if (s->drain_timer)
        return;
    close_listeners(s);
    s->drained = done;
    s->drained_ctx = ctx;
    s->drain_timer = reactor_timer_create(s->reactor, drain_over, s);
    reactor_timer_after(s->drain_timer, patience_s);
    for (struct conn *c = s->conns; c; c = next) {
        next = c->next;
        if (conn_idle(c))
            conn_destroy(c);
    }
    server_conn_gone(s);
}

void server_destroy(struct server *s)
{
    if (!s)
        return;
    close_listeners(s);
    reactor_timer_destroy(s->drain_timer);
    s->drain_timer = NULL;
    while (s->conns)
        conn_destroy(s->conns);
    for (struct request *r = s->requests, *next; r; r = next) {
        next = r->next;
        r->server = NULL;
    }
    forget_config(s);
    vec_free(&s->listeners);
    free(s);
}

const char *server_date(struct server *s)
{
    time_t now = time(NULL);
    struct tm tm;

    if (now != s->date_s && gmtime_r(&now, &tm)) {
        strftime(s->date, sizeof(s->date), "%a, %d %b %Y %H:%M:%S GMT", &tm);
        s->date_s = now;
    }
    return s->date;
}

void server_stats(const struct server *s, struct server_stats *stats)
{
    *stats = s->stats;
}
