/* server_private.h - what server.c, conn.c and request.c share */
#ifndef CORGI_HTTP_SERVER_PRIVATE_H
#define CORGI_HTTP_SERVER_PRIVATE_H

#include "base/str.h"
#include "base/vec.h"
#include "http/head.h"
#include "http/listen.h"
#include "http/streaming_reply.h"
#include "http/server.h"
#include "http/socket_stream.h"

struct listener {
    struct server *server;
    int fd;
    struct reactor_watch *watch; /* NULL while it takes a rest */
    struct reactor_timer *rest;
    bool local;              /* a Unix socket */
    struct listen_unix file; /* .path NULL: the socket came from elsewhere or is TCP */
    struct tls *tls;         /* NULL: plain */
    char *certificate, *key;
};

/* Accounts are looked up once a while, not once a connection: they may live far away. */
#define SERVER_ACCOUNTS  64
#define SERVER_ACCOUNT_S 60.0

struct local_account {
    struct auth_identity who;
    double until_s; /* 0: empty */
};

struct server {
    struct reactor *reactor;
    struct local_account accounts[SERVER_ACCOUNTS];
    struct server_config config; /* limits complete, lists our own */
    struct auth_rate *rate;      /* NULL: no limit */
    vec_of(struct listener *) listeners;
    struct conn *conns;       /* list */
    struct request *requests; /* list of those not answered */
    struct server_stats stats;
    char date[40]; /* of the second date_s, for answers */
    time_t date_s;
    struct reactor_timer *drain_timer; /* NULL: not draining */
    void (*drained)(void *ctx);
    void *drained_ctx;
};

enum conn_phase {
    CONN_HEAD,    /* the next request, or its beginning, is awaited */
    CONN_BODY,    /* of conn.request */
    CONN_SKIP,    /* the body of a request that is refused already */
    CONN_ANSWER,  /* the handler has it */
    CONN_PUSH,    /* a stream of events goes out */
    CONN_CLOSING, /* the last bytes go out, then what still comes in is dropped */
};

struct streaming_reply {
    struct conn *conn;
    const struct streaming_reply_events *events;
    void *ctx;
};

struct conn {
    struct server *server;
    struct conn *next, **link;
    struct socket_stream *stream;
    struct reactor_timer *timer; /* how long the phase may last */
    enum conn_phase phase;
    struct auth_identity local; /* who, on a Unix socket */
    bool is_local;
    char peer[REQUEST_PEER_SIZE];
    struct str in;  /* read and not yet used */
    size_t in_seen; /* of these, looked at for the end of the head */
    size_t skip;    /* bytes of a body to drop */
    struct request *request;
    bool close_after; /* the answer */
    bool ended;       /* the client sends no more */
    bool shut;        /* we do not either */
    int busy;         /* depth of calls that need it to stay */
    bool doomed;      /* to be destroyed when they are through */
    struct streaming_reply push;
};

/* conn.c */
void conn_accept(struct server *s, const struct listener *l, int fd, const char *peer,
                 const struct auth_identity *who);
void conn_destroy(struct conn *c);
bool conn_idle(const struct conn *c);
/* The answer of its request, with a head of its own; ends the request's hold on it. */
void conn_answer(struct conn *c, int status, const char *content_type,
                 const struct str *headers, const void *bytes, size_t count);

/* request.c */
struct request *request_create(struct conn *c, const char *head, size_t count);
void request_destroy(struct request *r);
void request_count(struct request *r, int status); /* tell the hooks */

/* May this request go to its handler?  Otherwise it has been refused. */
bool request_check_head(struct request *r);
bool request_check_body(struct request *r, const char *bytes, size_t count);

/* Note the refusal; it is sent once the body is out of the way.  Always false. */
bool request_refuse(struct request *r, int status, const char *code, const char *field,
                    const char *format, ...) __attribute__((format(printf, 5, 6)));

/* server.c */
void server_conn_gone(struct server *s); /* one less: is it drained? */
const char *server_date(struct server *s);

#endif
