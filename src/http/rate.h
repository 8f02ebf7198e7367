/* rate.h - how often somebody may ask: a bucket of tokens each */
#ifndef CORGI_HTTP_RATE_H
#define CORGI_HTTP_RATE_H

#include <stdbool.h>
#include <stdint.h>

struct rate;

/* per_s tokens a second flow into each bucket, which holds `burst`; at most `most`
 * buckets are kept, full ones are forgotten first. */
struct rate *rate_create(double per_s, double burst, int most);
void rate_destroy(struct rate *rate); /* NULL is fine */

/* Take that many tokens of whoever the key stands for; false when there are too few, and
 * *wait_s is how long until there are enough. */
bool rate_take(struct rate *rate, uint64_t key, double tokens, double now_s,
               double *wait_s);

#endif
