/* fetch.h - one small HTTP exchange at a time, never waited for
 *
 * For scraping a job's own metrics and for posting reports: plain HTTP to an address or
 * to localhost (looking up names could block, so there is none).  The owner watches
 * fetch_fd() for fetch_events() and calls fetch_go(); size and time are bounded. */
#ifndef CORGI_PROBE_FETCH_H
#define CORGI_PROBE_FETCH_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#define FETCH_MAX_URL   512
#define FETCH_MAX_BYTES ((size_t)8 << 20) /* of an answer */
#define FETCH_MAX_BODY  4096              /* of what is posted */
#define FETCH_TIMEOUT_S 5.0

struct fetch_url {
    struct sockaddr_storage address;
    socklen_t address_length;
    char host[128]; /* for the Host header, with the port */
    char path[FETCH_MAX_URL];
};

/* "http://127.0.0.1:8000/metrics", "http://[::1]:8000/", "http://localhost:8000/x" */
int fetch_url_parse(struct fetch_url *url, const char *text, struct err *err);

enum fetch_state {
    FETCH_IDLE,
    FETCH_RUNNING,
    FETCH_DONE, /* a 2xx answer has been taken in whole */
    FETCH_FAILED,
};

struct fetch;

/* body() gets the answer piece by piece; NULL: nobody wants it. */
struct fetch *fetch_create(const struct fetch_url *url,
                           void (*body)(void *ctx, const char *bytes, size_t count),
                           void *ctx);
void fetch_destroy(struct fetch *fetch); /* NULL is fine */

/* Begin: GET, or POST of a body of that content type.  A running exchange is dropped. */
enum fetch_state fetch_start(struct fetch *fetch, const char *post,
                             const char *content_type, double now_s);
/* Go on as far as possible without waiting; DONE and FAILED are told once. */
enum fetch_state fetch_go(struct fetch *fetch, double now_s);

int fetch_fd(const struct fetch *fetch);          /* -1: nothing to watch */
uint32_t fetch_events(const struct fetch *fetch); /* EPOLLIN or EPOLLOUT */

/* ---- the answer -------------------------------------------------------------------- */

/* An HTTP/1.x answer as it arrives.  Only what a scrape needs: a 2xx status, and a body
 * that ends by its length, by chunks or with the connection. */

#define FETCH_ANSWER_MAX_LINE 1024 /* of a header; what is longer is cut */

struct fetch_answer {
    void (*body)(void *ctx, const char *bytes, size_t count); /* NULL: not wanted */
    void *ctx;
    int stage; /* status line, headers, body, chunk size, chunk, its end, trailers */
    bool chunked, has_length, bad;
    size_t left;   /* of the body or of this chunk */
    size_t budget; /* bytes that may still come */
    size_t length; /* of the line so far */
    char line[FETCH_ANSWER_MAX_LINE];
};

/* body and ctx stay as they are.  RUNNING while more must come, DONE when it is whole. */
void fetch_answer_begin(struct fetch_answer *answer, size_t max_bytes);
enum fetch_state fetch_answer_feed(struct fetch_answer *answer, const char *bytes,
                                   size_t count);
enum fetch_state fetch_answer_eof(struct fetch_answer *answer);

#endif
