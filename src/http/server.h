/* server.h - HTTP/1.1 on Unix sockets, TCP and TLS
 *
 *     server = server_create(reactor, &config);
 *     server_listen_unix(server, &(struct server_unix){.path = path}, &err);
 *     reactor_run(reactor, &err);
 *
 * Requests are read within limits, checked (who asks, may they, does the body fit its
 * schema) and given to the route's handler.  Whatever is refused gets a JSON error.
 * Everything on the reactor's thread. */
#pragma once

#include "base/err.h"
#include "http/auth.h"
#include "http/reactor.h"
#include "http/request.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct server;

struct server_limits {
    size_t head_bytes;     /* request line and headers; 0: 16 kB */
    size_t body_bytes;     /* 0: 1 MB */
    int connections;       /* at once, over all listeners; 0: 4096 */
    int connections_each;  /* of one local user or one address, save operators; 0: a
                              quarter of those */
    double head_s;         /* from the first byte to the last of the head; 0: 10 */
    double body_s;         /* and of the body; 0: 30 */
    double idle_s;         /* between requests; 0: 75 */
    double answer_s;       /* a handler may take; 0: 60 */
    double write_s;        /* a client may take no byte of an answer; 0: 30 */
    double requests_per_s; /* of one identity in the long run; 0: no limit */
    double burst;          /* and at once; 0: twice requests_per_s */
    double bytes_per_s;    /* of bodies of one identity; at once four times that, and
                              a body at least; 0: no limit */
};

struct server_config {
    const struct route *routes; /* borrowed */
    void *ctx;                  /* of the handlers and the hooks below */
    struct server_limits limits;
    struct auth_rules auth; /* its lists are borrowed until the next config */
    /* Told before an answer goes out, the request having no path when nothing could be
     * read: of routes with .audit and of every 401 and 403; and of all, for metrics.
     * NULL: nobody is told. */
    void (*audit)(void *ctx, const struct request *r, int status);
    void (*answered)(void *ctx, const struct request *r, int status);
};

struct server *server_create(struct reactor *r, const struct server_config *config);

/* Closes everything at once, and the sockets' files go.  Requests not yet answered stay
 * the handlers' to answer, even after this.  NULL is fine. */
void server_destroy(struct server *s);

/* ---- listeners --------------------------------------------------------------------- */

struct server_unix {
    const char *path;  /* folders above it are made; a socket nobody serves is replaced */
    mode_t mode;       /* 0: 0666 */
    const char *group; /* of the file; NULL: as it comes */
};

struct server_tcp {
    const char *address;     /* "127.0.0.1:8421", "[::1]:8421"; port 0: any */
    const char *certificate; /* PEM, the chain; NULL: no TLS */
    const char *key;         /* PEM */
    bool anywhere;           /* allow an address that is not loopback without TLS */
};

int server_listen_unix(struct server *s, const struct server_unix *where,
                       struct err *err);
int server_listen_tcp(struct server *s, const struct server_tcp *where, struct err *err);

/* A socket that listens already, from systemd; the server closes it in the end. */
int server_listen_fd(struct server *s, int fd, struct err *err);

/* The port of the nth TCP listener, for those who asked for any; -1: none. */
int server_port(const struct server *s, int nth);

/* ---- running ----------------------------------------------------------------------- */

/* New limits and rules for the requests to come (routes stay); certificates are read
 * again.  On failure everything is as before. */
int server_reload(struct server *s, const struct server_config *config, struct err *err);

/* Take no more connections, finish the requests there are, then call done, at the latest
 * after that long.  Streams are the hub's to close. */
void server_drain(struct server *s, double patience_s, void (*done)(void *ctx),
                  void *ctx);

struct server_stats {
    int connections;
    uint64_t rate_limited; /* requests refused for coming too often */
};

void server_stats(const struct server *s, struct server_stats *stats);
