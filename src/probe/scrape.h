/* scrape.h - what a server does, from its Prometheus page
 *
 * A counter that the job names, or one of those known servers have (vLLM, Triton, ...),
 * is read every few seconds; the rate is the difference over time, a counter that begins
 * again included.  The demand on the server is the number of requests that it
 * has answered, refused and still holds, as far as the page tells.  How long answers take
 * is in a histogram, a summary or a counter of time beside it.
 *
 *     # TYPE vllm:request_success_total counter
 *     vllm:request_success_total{model="m",finished_reason="stop"} 12.0
 */
#pragma once

#include "probe/fetch.h"
#include "probe/latency.h"
#include "probe/probe_report.h"
#include "probe/tracks.h"

/* Sums of named series out of the text format, over all label sets.  Lines that are too
 * long or cannot be read are passed over. */
#define SCRAPE_PAGE_MAX_NAMES 16
#define SCRAPE_PAGE_MAX_LINE  4096
#define SCRAPE_ANY_SECONDS    "" /* the first histogram that is named *_seconds */

struct scrape_page {
    /* Borrowed; a name is also found with _total behind it. */
    const char *names[SCRAPE_PAGE_MAX_NAMES];
    double sums[SCRAPE_PAGE_MAX_NAMES]; /* NaN: not on the page */
    int count;
    const char *latency_name; /* borrowed; NULL: none is wanted */
    char any_name[128];       /* the one that SCRAPE_ANY_SECONDS has found */
    struct latency latency;
};

void scrape_page_init(struct scrape_page *page, const char *const *names, int count,
                      const char *latency_name);
void scrape_page_read(struct scrape_page *page, const char *text, size_t length);

/* The names a kind of server uses. */
struct metrics_server {
    const char *done; /* counter of what it has answered */
    const char *refused;
    const char *held[2]; /* gauges: being worked on, waiting */
    const char *unit;
    const char *latency; /* from arrival to answer */
    double latency_unit_s;
};

/* A counter that only goes up, whatever restarts do to the one it is read from. */
struct steady_counter {
    double last; /* NaN: nothing yet */
    double sum;
};

struct scrape {
    struct fetch fetch;
    double every_s, due_s;
    struct metrics_server named; /* the job's own */
    char *histogram;             /* that it may be, without _count */
    const struct metrics_server *server;
    struct scrape_page page;
    struct steady_counter done, refused;
    struct tracks *rate, *demand;
    double told_done;               /* answers at the last told page */
    double page_s, told_s;          /* when the last page and the last told one came */
    struct latency told;            /* the page of the last window */
    double held_sum[2], held_pages; /* of the gauges since */
};

/* counter: NULL for the known ones; borrowed, as are the tracks the rate goes into.  NULL
 * when the URL is no address. */
struct scrape *scrape_create(const char *url, const char *counter, double window_s,
                             struct tracks *rate, struct err *err);
void scrape_destroy(struct scrape *scrape); /* NULL is fine */

/* Begin when it is time, go on when it is running.  Call when its descriptor is ready and
 * at due_s at the latest. */
void scrape_go(struct scrape *scrape, double now_s);

/* A page has come: scrape_go() hands over those it fetched. */
void scrape_take(struct scrape *scrape, const char *text, size_t length, double now_s);

/* What came since the last call: answers, in how many seconds, how late and how many were
 * held, as far as the page tells.  Requests that are not on a gauge follow from how long
 * answers took (Little's law).  False: no page has come. */
bool scrape_window(struct scrape *scrape, struct probe_service *service, double *answered,
                   double *seconds);
