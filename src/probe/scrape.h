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
#include "probe/sources.h"

struct scrape;

/* counter: NULL for the known ones; borrowed. */
struct scrape *scrape_create(const struct fetch_url *url, const char *counter,
                             double window_s);
void scrape_destroy(struct scrape *scrape); /* NULL is fine */

/* Begin when it is time, go on when it is running.  Call when scrape_fd() is ready and at
 * scrape_due_s() at the latest. */
void scrape_go(struct scrape *scrape, double now_s);
double scrape_due_s(const struct scrape *scrape);
int scrape_fd(const struct scrape *scrape); /* -1: nothing to watch */
uint32_t scrape_events(const struct scrape *scrape);

struct tracks *scrape_rate(struct scrape *scrape);   /* borrowed */
struct tracks *scrape_demand(struct scrape *scrape); /* borrowed */

/* ---- the page -------------------------------------------------------------------------
 */

/* Sums of named series out of the text format, over all label sets.  A page is read in
 * pieces of any size; lines that are too long or cannot be read are passed over. */
#define PROM_MAX_NAMES 16
#define PROM_MAX_LINE  4096

struct prom {
    const char *names[PROM_MAX_NAMES]; /* borrowed; also found with _total behind it */
    double sums[PROM_MAX_NAMES];       /* NaN: not on the page */
    int count;
    size_t length;
    bool cut; /* the line at hand is too long */
    char line[PROM_MAX_LINE];
};

void prom_init(struct prom *prom, const char *const *names, int count);
void prom_begin(struct prom *prom); /* another page: the sums begin again */
void prom_feed(struct prom *prom, const char *bytes, size_t count);
void prom_end(struct prom *prom); /* the last line may lack its newline */

#endif
