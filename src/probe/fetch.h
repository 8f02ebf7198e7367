/* fetch.h - one small HTTP exchange at a time, never waited for
 *
 * For scraping a job's own metrics: plain HTTP to an address or to localhost (looking up
 * names could block, so there is none).  The owner watches the
 * descriptor for fetch_events() and calls fetch_go(); size and time are bounded. */
#pragma once

#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#define FETCH_MAX_URL   512
#define FETCH_MAX_BYTES ((size_t)8 << 20) /* of an answer */
#define FETCH_TIMEOUT_S 5.0

struct fetch {
    struct sockaddr_storage address;
    socklen_t address_length;
    char host[128]; /* for the Host header, with the port */
    char path[FETCH_MAX_URL];
    int fd; /* -1: nothing is running */
    double deadline_s;
    size_t sent;
    struct str request, answer;
    struct str body; /* of the last answer that was taken in whole */
};

/* "http://127.0.0.1:8000/metrics", "http://[::1]:8000/", "http://localhost:8000/x" */
int fetch_init(struct fetch *fetch, const char *url, struct err *err);
void fetch_fini(struct fetch *fetch);

enum fetch_state {
    FETCH_RUNNING,
    FETCH_DONE, /* a 2xx answer has been taken in whole */
    FETCH_FAILED,
};

/* Begin a GET.  A running exchange is dropped. */
enum fetch_state fetch_start(struct fetch *fetch, double now_s);
/* Go on with one that is running as far as possible without waiting. */
enum fetch_state fetch_go(struct fetch *fetch, double now_s);

uint32_t fetch_events(const struct fetch *fetch); /* EPOLLIN or EPOLLOUT */

/* An HTTP/1.x answer as far as it has come.  Only what a scrape needs: a 2xx status, and
 * a body that ends by its length, by chunks or with the connection. */
enum fetch_state fetch_read_answer(const struct str *answer, bool ended,
                                   struct str *body);
