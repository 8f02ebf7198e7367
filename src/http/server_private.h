/* server_private.h - what server.c, listen.c, conn.c and request.c share */
#pragma once

#include "base/str.h"
#include "base/vec.h"
#include "http/server.h"

/* A socket that is listened on. */
struct listener {
    struct server *server;
    int fd;
    struct reactor_event *watch; /* NULL while it takes a rest */
    struct reactor_event *rest;
    bool local;   /* a Unix socket */
    char *path;   /* of its file; NULL: the socket came from elsewhere or is TCP */
    int lock_fd;  /* of a file beside it, held as long as it is served; -1: none */
    dev_t device; /* of the socket's file, to remove only our own */
    ino_t inode;  /* 0: there is none */
    struct ssl_ctx_st *tls; /* of OpenSSL; NULL: plain */
    char *certificate, *key;
};

/* Accounts are looked up once a while, not once a connection: they may live far away. */
#define SERVER_ACCOUNTS 64

struct local_account {
    struct auth_identity who;
    double until_s; /* 0: empty */
};

struct server {
    struct reactor *reactor;
    struct local_account accounts[SERVER_ACCOUNTS];
    struct server_config config; /* limits complete */
    struct auth_rate *rate;      /* NULL: no limit */
    struct auth_rate *bytes;     /* of bodies; NULL: no limit */
    struct body_reader *reader;  /* NULL: no large body has come yet */
    vec_of(struct listener *) listeners;
    LIST_HEAD(conn_list, conn) conns;
    LIST_HEAD(request_list, request) requests; /* not yet answered */
    struct server_stats stats;
    int paused;                        /* connections in CONN_PAUSE */
    struct reactor_event *drain_timer; /* NULL: not draining */
    void (*drained)(void *ctx);
    void *drained_ctx;
};

enum conn_phase {
    CONN_HEAD,    /* the next request, or its beginning, is awaited */
    CONN_BODY,    /* of conn.request */
    CONN_SKIP,    /* the body of a request that is refused already */
    CONN_PAUSE,   /* its body is large: the refusal goes out after a while */
    CONN_ANSWER,  /* the handler has it */
    CONN_STREAM,  /* an answer without an end goes out */
    CONN_CLOSING, /* the last bytes go out, then what still comes in is dropped */
};

struct streaming_reply {
    struct conn *conn;
    const struct streaming_reply_events *events;
    void *ctx;
};

struct conn {
    struct server *server;
    LIST_ENTRY(conn) link;
    struct bufferevent *bev;
    struct reactor_event *timer; /* how long the phase may last */
    enum conn_phase phase;
    struct auth_identity local; /* who, on a Unix socket */
    bool is_local;
    char peer[REQUEST_PEER_SIZE];
    size_t seen;    /* of the bytes read, looked at for the end of the head */
    size_t skip;    /* bytes of a body to drop */
    size_t dropped; /* that came after the last answer */
    struct request *request;
    bool close_after; /* the answer */
    bool ended;       /* the client sends no more */
    bool shut;        /* we do not either */
    int busy;         /* depth of calls that need it to stay */
    bool doomed;      /* to be destroyed when they are through */
    struct streaming_reply stream;
};

/* listen.c */
void listeners_close(struct server *s);
int listeners_read_certificates(struct server *s, struct err *err); /* again */

/* conn.c */
void conn_accept(const struct listener *l, int fd, const char *peer,
                 const struct auth_identity *who);
void conn_destroy(struct conn *c);
bool conn_idle(const struct conn *c);
/* The answer of its request, with a head of its own; ends the request's hold on it. */
void conn_answer(struct conn *c, int status, const char *content_type,
                 const struct str *headers, const void *bytes, size_t count);

/* Its body has been read and checked: the handler gets the request, or it is refused. */
void conn_body_read(struct request *r, bool good);

/* Between conn.c and conn_answer.c: the next phase and how long it may last (0: as long
 * as it takes), how long a client may take no byte, bytes that wait on either side, and
 * the end after what is to be sent. */
void conn_set_phase(struct conn *c, enum conn_phase phase, double limit_s);
void conn_set_patience(struct conn *c, double write_s);
size_t conn_readable(const struct conn *c);
size_t conn_unwritten(const struct conn *c);
void conn_finish(struct conn *c);

/* request.c */
struct request *request_create(struct conn *c);
void request_destroy(struct request *r);
void request_count(struct request *r, int status); /* tell the hooks */

/* May this request go to its handler?  Otherwise it has been refused. */
bool request_check_head(struct request *r);
bool request_check_body(struct request *r, const char *bytes, size_t count);

/* Note the refusal; it is sent once the body is out of the way.  Always false. */
bool request_refuse(struct request *r, int status, const char *code, const char *field,
                    const char *format, ...) __attribute__((format(printf, 5, 6)));
