/* scrape.h - the rate of a server from its Prometheus page
 *
 * A counter that the job names, or one of those known servers have (vLLM, Triton, ...),
 * is read every few seconds; the rate is the difference over time, a counter that begins
 * again included.  The demand on the server is the number of requests that it
 * has answered, refused and still holds, as far as the page tells.
 *
 *     # TYPE vllm:request_success_total counter
 *     vllm:request_success_total{model="m",finished_reason="stop"} 12.0
 */
#ifndef CORGI_PROBE_SCRAPE_H
#define CORGI_PROBE_SCRAPE_H

#include "probe/fetch.h"
#include "probe/tracks.h"

struct scrape;

/* counter: NULL for the known ones; borrowed, as are the tracks the rate goes into. */
struct scrape *scrape_create(const struct fetch_url *url, const char *counter,
                             double window_s, struct tracks *rate);
void scrape_destroy(struct scrape *scrape); /* NULL is fine */

/* Begin when it is time, go on when it is running.  Call when scrape_fd() is ready and at
 * scrape_due_s() at the latest. */
void scrape_go(struct scrape *scrape, double now_s);
double scrape_due_s(const struct scrape *scrape);
int scrape_fd(const struct scrape *scrape); /* -1: nothing to watch */
uint32_t scrape_events(const struct scrape *scrape);

struct tracks *scrape_demand(struct scrape *scrape); /* borrowed */

/* Sums of named series out of the text format, over all label sets.  A page is read in
 * pieces of any size; lines that are too long or cannot be read are passed over. */
#define SCRAPE_PAGE_MAX_NAMES 16
#define SCRAPE_PAGE_MAX_LINE  4096

struct scrape_page {
    /* Borrowed; a name is also found with _total behind it. */
    const char *names[SCRAPE_PAGE_MAX_NAMES];
    double sums[SCRAPE_PAGE_MAX_NAMES]; /* NaN: not on the page */
    int count;
    size_t length;
    bool cut; /* the line at hand is too long */
    char line[SCRAPE_PAGE_MAX_LINE];
};

void scrape_page_init(struct scrape_page *page, const char *const *names, int count);
void scrape_page_begin(struct scrape_page *page); /* another page: the sums begin again */
void scrape_page_feed(struct scrape_page *page, const char *bytes, size_t count);
void scrape_page_end(struct scrape_page *page); /* the last line may lack its newline */

#endif
