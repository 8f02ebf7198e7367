/* request.h - the table of routes, one request as its handler sees it, and the ways to
 * answer it
 *
 * A request is answered exactly once, now or later, on the reactor's thread; answering
 * ends it, also when the client has gone meanwhile, and nothing of it may be touched
 * afterwards.  Until then everything borrowed from it stays.  A handler that waits for
 * the store keeps the pointer and answers from the callback:
 *
 *     static void committed(void *ctx)
 *     {
 *         struct submission *s = ctx;
 *         request_answer(s->request, 201, &s->json);
 *     }
 *
 * If that takes longer than the server's answer limit the client hears 503 and the
 * handler's own answer later is dropped; the request still has to be answered then. */
#pragma once

#include "base/err.h"
#include "base/json.h"
#include "base/str.h"
#include "http/auth.h"
#include "http/head.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

struct request;
struct schema;

/* ---- routes ------------------------------------------------------------------------ */

#define ROUTE_MAX_PARAMS   4
#define ROUTE_MAX_SEGMENTS 12

/* Which request goes where, as data.  `/v1/jobs/{id}/cancel` binds id to any one
 * non-empty segment.  A word beats a parameter where both fit. */
struct route {
    const char *operation;   /* as operationId in the OpenAPI file; NULL ends the table */
    enum http_method method; /* HEAD comes with GET, OPTIONS with everything */
    const char *pattern;
    enum auth_role role;       /* least */
    const char *query;         /* names allowed, blanks between: "state user"; or NULL */
    const struct schema *body; /* NULL: takes none */
    bool audit;                /* changes something: tell the audit hook */
    /* Must answer the request, now or later. */
    void (*handle)(void *ctx, struct request *request);
};

struct route_match {
    const struct route *route; /* NULL: see allow */
    unsigned allow;            /* bit m: method m exists on this path; 0: no such path */
    int param_count;
    const char *names[ROUTE_MAX_PARAMS]; /* into the pattern, ends at '}' */
    char *values[ROUTE_MAX_PARAMS];      /* decoded, into the path given */
};

/* Find the route of a path, which is split and percent-decoded in place.  False: the path
 * is malformed.  A method HEAD finds the route of GET. */
bool route_find(const struct route *routes, enum http_method method, char *path,
                struct route_match *match);

/* ---- what was asked ---------------------------------------------------------------- */

#define REQUEST_PEER_SIZE 64

struct request {
    /* What a handler reads, and does not change: */
    struct auth_identity identity;
    struct head head; /* head_field() finds a header */
    struct route_match match;
    struct uri_query query;        /* names of the route's table; uri_query_get() */
    const struct json_value *body; /* has passed the route's schema; NULL: none */
    char *path;                    /* as sent, without the query */
    double began_s;                /* when it was read, as of clock_wall_s() */

    /* The server's own: */
    struct server *server; /* NULL: destroyed */
    struct conn *conn;     /* NULL: the client has gone, or was told to */
    LIST_ENTRY(request) link;
    char *head_text;
    struct json_doc *document;
    char peer[REQUEST_PEER_SIZE];
    struct str headers; /* of the answer */
    bool handled;       /* a handler has it, so it is not the server's to destroy */
    int refused;        /* before a handler had it: the status */
    struct str refusal; /* and the JSON; empty: none */
};

/* A parameter of the route's pattern, decoded; asking for one it lacks is asserted. */
const char *request_param(const struct request *r, const char *name);

/* The parameter as a positive whole number.  Otherwise the request is answered with 404,
 * is gone, and -1 is returned. */
int request_param_id(struct request *r, const char *name, uint64_t *id);

/* It is as much work as so many requests more, and counts as such for how often its user
 * may ask.  Otherwise the request is answered with 429, is gone, and false is returned.
 */
bool request_spend(struct request *r, double requests);

/* True once the client has hung up: the answer will not be read. */
bool request_gone(const struct request *r);

/* ---- answers ----------------------------------------------------------------------- */

/* A header of the answer, before it is given.  Bytes that cannot stand in a header are
 * replaced.  Without a Cache-Control of its own an answer has `no-store`. */
void request_add_header(struct request *r, const char *name, const char *value);

/* JSON; the text is taken and left empty. */
void request_answer(struct request *r, int status, struct str *json);

/* Anything else, or nothing without a type; copied. */
void request_answer_bytes(struct request *r, int status, const char *content_type,
                          const void *bytes, size_t count);

/* {"error":{"code":..,"message":..,"field":..}}; field NULL: none. */
void request_answer_error(struct request *r, int status, const char *code,
                          const char *field, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* The same from an err, with the status its code has:
 *   invalid, format, usage 400; not_found 404; exists 409; infeasible 422; limit 429;
 *   unsupported 501; system 503 (logged; the sentence is shown). */
void request_fail(struct request *r, const char *field, const struct err *err);

/* ---- answers without an end -------------------------------------------------------- */

struct streaming_reply_events {
    void (*written)(void *ctx); /* all bytes have left */
    void (*gone)(void *ctx);    /* the client has, and the reply with it */
};

struct streaming_reply;

/* Answer with 200 and no length; bytes go out as they come up.  NULL when there is nobody
 * to send to, the client being gone or having asked for the head alone; the request is
 * answered anyway.  The client may take no byte for patience_s. */
struct streaming_reply *streaming_reply_begin(struct request *r, const char *content_type,
                                              const struct streaming_reply_events *events,
                                              void *ctx, double patience_s);
void streaming_reply_write(struct streaming_reply *p, const void *bytes, size_t count);
size_t streaming_reply_unwritten(const struct streaming_reply *p);

/* Send what is there, then close; there are no more callbacks. */
void streaming_reply_end(struct streaming_reply *p);
