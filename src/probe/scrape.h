/* scrape.h - the rate of a server from its Prometheus page
 *
 * A counter that the job names, or one of those known servers have (vLLM, Triton, ...),
 * is read every few seconds; the rate is the difference over time, a counter that begins
 * again included.  What is asked of the server (its demand) is what it has answered,
 * refused and still holds, as far as the page tells. */
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

#endif
