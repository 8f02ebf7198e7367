/* listen.c - a server's sockets: opened as a Unix user expects them, with their
 * certificates
 *
 * corgid names them to the server once.  Each connection that comes in is looked at (who
 * it is, whether there are too many) and given to conn.c. */
#include "http/server.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/parse.h"
#include "http/server_private.h"

#include <arpa/inet.h>
#include <errno.h>
#include <grp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG        1024
#define DEFAULT_MODE   0666
#define ACCEPT_AT_ONCE 64
#define REST_S         0.5  /* after the system had no descriptor left */
#define ACCOUNT_S      60.0 /* see struct local_account */

union tcp_address {
    struct sockaddr_storage store;
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

/* ---- connections ------------------------------------------------------------------- */

static bool find_local(struct server *s, int fd, struct auth_identity *identity)
{
    struct auth_identity who;
    struct local_account *account;
    double now_s = clock_wall_s();

    if (!auth_peer(fd, &who))
        return false;
    account = &s->accounts[who.uid % SERVER_ACCOUNTS];
    if (now_s >= account->until_s || account->who.uid != who.uid ||
        account->who.gid != who.gid) {
        account->who = who;
        auth_account(&s->config.auth, &account->who);
        account->until_s = now_s + ACCOUNT_S;
    }
    *identity = account->who;
    identity->pid = who.pid;
    return true;
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
    const struct conn *c;
    int count = 0;

    if (who && who->role == AUTH_OPERATOR)
        return false;
    LIST_FOREACH (c, &s->conns, link)
        count += who ? c->is_local && c->local.uid == who->uid : same_host(c->peer, peer);
    return count >= s->config.limits.connections_each;
}

static void on_connection(void *ctx);

static void end_rest(void *ctx)
{
    struct listener *l = ctx;

    l->watch = reactor_watch_create(l->server->reactor, l->fd, on_connection, l);
}

static void take_a_rest(struct listener *l)
{
    log_warn("accept_failed", LOG_STR("error", strerror(errno)));
    reactor_event_destroy(l->watch);
    l->watch = NULL;
    reactor_timer_after(l->rest, REST_S);
}

static void peer_name(const union tcp_address *address, char *out, size_t size)
{
    char host[INET6_ADDRSTRLEN] = "";

    if (address->any.sa_family == AF_INET) {
        inet_ntop(AF_INET, &address->v4.sin_addr, host, sizeof(host));
        snprintf(out, size, "%s:%d", host, ntohs(address->v4.sin_port));
    } else if (address->any.sa_family == AF_INET6) {
        inet_ntop(AF_INET6, &address->v6.sin6_addr, host, sizeof(host));
        snprintf(out, size, "[%s]:%d", host, ntohs(address->v6.sin6_port));
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
        union tcp_address address = {0};
        struct auth_identity who = {.uid = AUTH_NO_ID};
        socklen_t size = sizeof(address);
        char peer[REQUEST_PEER_SIZE];
        int fd = accept4(l->fd, &address.any, &size, SOCK_NONBLOCK | SOCK_CLOEXEC);

        if (fd < 0 &&
            (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM))
            take_a_rest(l);
        if (fd < 0)
            return;
        peer_name(&address, peer, sizeof(peer));
        if (!l->local)
            setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
        if (s->stats.connections >= s->config.limits.connections ||
            (l->local && !find_local(s, fd, &who)) ||
            has_its_share(s, l->local ? &who : NULL, peer))
            turn_away(l, fd);
        else
            conn_accept(l, fd, peer, &who);
    }
}

/* ---- Unix sockets ------------------------------------------------------------------ */

/* Remove a socket that nobody serves. */
static int remove_stale(const char *path, const struct sockaddr_un *address,
                        struct err *err)
{
    struct stat there;
    int fd, refused;

    if (lstat(path, &there) < 0)
        return errno == ENOENT ? 0 : err_sys(err, "cannot look at %s", path);
    if (!S_ISSOCK(there.st_mode))
        return err_set(err, ERR_EXISTS, "%s is there and is not a socket; remove it",
                       path);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return err_sys(err, "cannot make a socket");
    refused = connect(fd, (const struct sockaddr *)address, sizeof(*address)) < 0 &&
              errno == ECONNREFUSED;
    close(fd);
    if (!refused)
        return err_set(err, ERR_EXISTS,
                       "another daemon serves %s; stop it or choose another socket",
                       path);
    if (unlink(path) < 0)
        return err_sys(err, "cannot remove the stale socket %s", path);
    return 0;
}

static int set_owner(const char *path, const struct server_unix *where, struct err *err)
{
    struct group *group;

    if (where->group) {
        group = getgrnam(where->group);
        if (!group)
            return err_set(err, ERR_NOT_FOUND, "there is no group '%s' for the socket %s",
                           where->group, path);
        if (chown(path, (uid_t)-1, group->gr_gid) < 0)
            return err_sys(err, "cannot give %s to the group %s", path, where->group);
    }
    if (chmod(path, where->mode ? where->mode : DEFAULT_MODE) < 0)
        return err_sys(err, "cannot set the mode of %s", path);
    return 0;
}

static int bind_unix(struct listener *l, const struct server_unix *where, struct err *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct stat made;

    memcpy(address.sun_path, l->path, strlen(l->path));
    if (remove_stale(l->path, &address, err) < 0)
        return -1;
    l->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (l->fd < 0 || bind(l->fd, (struct sockaddr *)&address, sizeof(address)) < 0)
        return err_sys(err, "cannot make the socket %s", l->path);
    if (lstat(l->path, &made) == 0) {
        l->device = made.st_dev;
        l->inode = made.st_ino;
    }
    /* Nobody can connect before listen(), so there is no moment with a wrong mode. */
    if (set_owner(l->path, where, err) < 0)
        return -1;
    if (listen(l->fd, BACKLOG) < 0)
        return err_sys(err, "cannot listen on %s", l->path);
    return 0;
}

/* ---- TCP --------------------------------------------------------------------------- */

static int read_address(const char *text, union tcp_address *address, socklen_t *size,
                        struct err *err)
{
    const char *colon = strrchr(text, ':');
    char host[64] = "";
    int port = 0;
    size_t length = colon ? (size_t)(colon - text) : 0;

    memset(address, 0, sizeof(*address));
    if (!colon || length >= sizeof(host) || !parse_int(colon + 1, &port) || port < 0 ||
        port > 65535)
        return err_set(err, ERR_INVALID,
                       "'%.80s' is not ADDRESS:PORT, as in 127.0.0.1:8421", text);
    memcpy(host, text, length);
    if (host[0] == '[' && host[length - 1] == ']') {
        host[length - 1] = '\0';
        address->v6.sin6_family = AF_INET6;
        address->v6.sin6_port = htons((uint16_t)port);
        *size = sizeof(address->v6);
        if (inet_pton(AF_INET6, host + 1, &address->v6.sin6_addr) == 1)
            return 0;
    } else {
        address->v4.sin_family = AF_INET;
        address->v4.sin_port = htons((uint16_t)port);
        *size = sizeof(address->v4);
        if (inet_pton(AF_INET, strcmp(host, "localhost") ? host : "127.0.0.1",
                      &address->v4.sin_addr) == 1)
            return 0;
    }
    return err_set(err, ERR_INVALID, "'%.60s' is not an address, as in 127.0.0.1", host);
}

static bool is_loopback(const union tcp_address *address)
{
    if (address->any.sa_family == AF_INET6)
        return IN6_IS_ADDR_LOOPBACK(&address->v6.sin6_addr);
    return ntohl(address->v4.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
}

/* Numbers and localhost only; beyond loopback only with TLS or when told to. */
static int bind_tcp(struct listener *l, const struct server_tcp *where, struct err *err)
{
    union tcp_address address;
    socklen_t size = 0;
    const int one = 1;

    if (read_address(where->address, &address, &size, err) < 0)
        return -1;
    if (!is_loopback(&address) && !where->certificate && !where->anywhere)
        return err_set(
            err, ERR_INVALID,
            "%s can be reached from other machines, so it needs a certificate; "
            "without one listen on 127.0.0.1",
            where->address);
    l->fd = socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (l->fd < 0)
        return err_sys(err, "cannot make a socket for %s", where->address);
    setsockopt(l->fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (address.any.sa_family == AF_INET6)
        setsockopt(l->fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one));
    if (bind(l->fd, &address.any, size) < 0 || listen(l->fd, BACKLOG) < 0)
        return err_sys(err, "cannot listen on %s", where->address);
    return 0;
}

/* ---- certificates ------------------------------------------------------------------ */

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

/* TLS 1.2 and later with the listener's certificate chain and key; NULL: failed. */
static SSL_CTX *load_tls(const struct listener *l, struct err *err)
{
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());

    if (!context || SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) != 1) {
        tls_failed(err, "cannot set up", "TLS");
        SSL_CTX_free(context);
        return NULL;
    }
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                     SSL_OP_IGNORE_UNEXPECTED_EOF);
    if (load_certificate(context, l->certificate, l->key, err) < 0) {
        SSL_CTX_free(context);
        return NULL;
    }
    return context;
}

int listeners_read_certificates(struct server *s, struct err *err)
{
    vec_of(SSL_CTX *) fresh = {0};
    int rc = 0;

    for (size_t i = 0; i < s->listeners.count && rc == 0; i++) {
        const struct listener *l = s->listeners.items[i];

        vec_push(&fresh, l->tls ? load_tls(l, err) : NULL);
        rc = l->tls && !fresh.items[i] ? -1 : 0;
    }
    for (size_t i = 0; i < fresh.count; i++) {
        struct listener *l = s->listeners.items[i];
        SSL_CTX *old = rc == 0 ? l->tls : fresh.items[i];

        if (rc == 0)
            l->tls = fresh.items[i];
        SSL_CTX_free(old); /* sessions go on */
    }
    vec_free(&fresh);
    return rc;
}

/* ---- listeners --------------------------------------------------------------------- */

static struct listener *make_listener(struct server *s)
{
    struct listener *l = mem_new(struct listener);

    l->server = s;
    l->fd = l->lock_fd = -1;
    return l;
}

static void start(struct listener *l)
{
    struct server *s = l->server;

    l->rest = reactor_timer_create(s->reactor, end_rest, l);
    l->watch = reactor_watch_create(s->reactor, l->fd, on_connection, l);
    vec_push(&s->listeners, l);
}

static void close_listener(struct listener *l)
{
    struct stat there;

    reactor_event_destroy(l->watch);
    reactor_event_destroy(l->rest);
    if (l->inode && lstat(l->path, &there) == 0 && there.st_dev == l->device &&
        there.st_ino == l->inode)
        unlink(l->path);
    if (l->fd >= 0)
        close(l->fd);
    if (l->lock_fd >= 0)
        close(l->lock_fd);
    SSL_CTX_free(l->tls);
    free(l->path);
    free(l->certificate);
    free(l->key);
    free(l);
}

void listeners_close(struct server *s)
{
    vec_each (struct listener *, l, &s->listeners)
        close_listener(*l);
    vec_clear(&s->listeners);
}

int server_listen_unix(struct server *s, const struct server_unix *where, struct err *err)
{
    struct listener *l;

    if (strlen(where->path) >= sizeof(((struct sockaddr_un *)NULL)->sun_path))
        return err_set(err, ERR_LIMIT, "the socket's path %s is longer than %zu bytes",
                       where->path, sizeof(((struct sockaddr_un *)NULL)->sun_path) - 1);
    if (file_make_parent(where->path, err) < 0)
        return -1;
    l = make_listener(s);
    l->local = true;
    l->path = mem_strdup(where->path);
    l->lock_fd = file_lock(l->path, err);
    if (l->lock_fd < 0 || bind_unix(l, where, err) < 0) {
        close_listener(l);
        return -1;
    }
    start(l);
    return 0;
}

int server_listen_tcp(struct server *s, const struct server_tcp *where, struct err *err)
{
    struct listener *l;

    if (!where->certificate != !where->key)
        return err_set(err, ERR_INVALID, "%s needs both a certificate and its key",
                       where->address);
    l = make_listener(s);
    l->certificate = where->certificate ? mem_strdup(where->certificate) : NULL;
    l->key = where->key ? mem_strdup(where->key) : NULL;
    if ((l->certificate && !(l->tls = load_tls(l, err))) || bind_tcp(l, where, err) < 0) {
        close_listener(l);
        return -1;
    }
    start(l);
    return 0;
}

int server_listen_fd(struct server *s, int fd, struct err *err)
{
    union tcp_address address;
    socklen_t size = sizeof(address), listening_size = sizeof(int);
    struct listener *l;
    int listening = 0;

    if (getsockname(fd, &address.any, &size) < 0 ||
        getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &listening_size) < 0 ||
        !listening)
        return err_set(err, ERR_INVALID, "descriptor %d is not a listening socket", fd);
    l = make_listener(s);
    l->fd = fd;
    l->local = address.any.sa_family == AF_UNIX;
    start(l);
    return 0;
}

int server_port(const struct server *s, int nth)
{
    vec_each (struct listener *, l, &s->listeners) {
        union tcp_address address;
        socklen_t size = sizeof(address);

        if ((*l)->local || getsockname((*l)->fd, &address.any, &size) < 0 || nth-- > 0)
            continue;
        return ntohs(address.any.sa_family == AF_INET ? address.v4.sin_port
                                                      : address.v6.sin6_port);
    }
    return -1;
}
