/* client.h - a blocking HTTP client for the command line
 *
 *     client = client_create(&(struct client_config){.socket = path}, &err);
 *     if (client_call(client, &ask, &answer, &err) == 0) ...
 *     client_answer_fini(&answer);
 *
 * Speaks to a Unix socket, http:// or https://, keeps the connection between calls, and
 * never waits longer than it was told.  Not thread-safe. */
#pragma once

#include "base/err.h"
#include "base/json.h"
#include "base/str.h"
#include "http/head.h"

#include <stdbool.h>
#include <stddef.h>

struct client;

struct client_config {
    const char *socket;  /* path of a Unix socket; or */
    const char *url;     /* http://127.0.0.1:8421 or https://host:8421 */
    const char *token;   /* sent as a bearer token; NULL: none */
    const char *ca_file; /* PEM, whom to trust; NULL: the system's */
    double connect_s;    /* 0: 5 */
    double answer_s;     /* 0: 60 */
    size_t max_bytes;    /* of an answer; 0: 64 MB */
};

struct client *client_create(const struct client_config *config, struct err *err);
void client_destroy(struct client *c); /* NULL is fine */

/* "the Unix socket /run/corgi/corgid.sock", for messages. */
const char *client_where(const struct client *c);

struct client_request {
    enum http_method method;
    const char *path;            /* with the query, encoded */
    const char *body;            /* JSON; NULL: none */
    const char *idempotency_key; /* NULL: none */
    /* Times to try again when the connection was lost: only safe for reads and with an
     * idempotency key. */
    int retries;
};

struct client_answer {
    int status;
    char *body; /* NUL-terminated, never NULL after success */
    size_t length;
    struct json_doc *json; /* NULL: the body is not JSON */
};

/* 0 when there is an answer, whatever its status.  -1: ERR_NOT_FOUND when nobody listens
 * there, ERR_SYSTEM when the connection failed or took too long, ERR_FORMAT for an answer
 * that is none. */
int client_call(struct client *c, const struct client_request *request,
                struct client_answer *answer, struct err *err);
void client_answer_fini(struct client_answer *answer);

/* An error answer as one sentence, with the field it names; "" when status is 2xx. */
void client_answer_error(const struct client_answer *answer, struct err *err);

struct client_event {
    const char *id;   /* "" : none yet */
    const char *type; /* "message" when the server gave none */
    const char *data;
};

struct client_stream {
    const char *path;
    const char *last_event_id; /* NULL: from now on */
    /* Called for every event; false ends the stream.  NULL: the stream has begun. */
    bool (*event)(void *ctx, const struct client_event *event);
    void *ctx;
};

/* Follow events: 0 when event() ended it, 1 when the server did; -1 as for client_call(),
 * when nothing came for a minute, or with the answer's error when it was not a stream. */
int client_follow(struct client *c, const struct client_stream *stream, struct err *err);

/* ---- an event stream as it comes in, byte by byte ---------------------------------- */

#define SSE_PARSE_MAX_LINE ((size_t)1 << 20)
#define SSE_PARSE_MAX_DATA ((size_t)4 << 20)

struct sse_parse {
    struct str line; /* not yet whole */
    struct str type, data, id;
    bool has_data;
    bool after_cr; /* a LF now belongs to the line that has ended */
    bool begun;    /* a byte-order mark can only stand before */
    bool (*event)(void *ctx, const struct client_event *event); /* false stops */
    void *ctx;
};

void sse_parse_fini(struct sse_parse *p);

/* 0 to go on, 1 when event() said stop, -1 with ERR_LIMIT for what is too long. */
int sse_parse_feed(struct sse_parse *p, const char *bytes, size_t count, struct err *err);

/* ---- words for requests ------------------------------------------------------------ */

/* Percent-encode for a path segment or a query value; the caller frees. */
char *client_encode(const char *text);

/* 32 hex digits from the system's random source. */
void client_idempotency_key(char key[33]);
