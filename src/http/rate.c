/* rate.c - request_checks.c takes a token here for each request; who has none left waits
 */
#include "http/rate.h"

#include "base/map.h"
#include "base/mem.h"
#include "base/vec.h"

struct bucket {
    uint64_t key;
    double tokens;
    double at_s;
};

struct rate {
    double per_s;
    double burst;
    size_t most;
    struct map *index; /* key -> buckets */
    vec_of(struct bucket) buckets;
};

struct rate *rate_create(double per_s, double burst, int most)
{
    struct rate *rate = mem_new(struct rate);

    rate->per_s = per_s;
    rate->burst = burst;
    rate->most = (size_t)most;
    rate->index = map_create();
    return rate;
}

void rate_destroy(struct rate *rate)
{
    if (!rate)
        return;
    map_destroy(rate->index);
    vec_free(&rate->buckets);
    free(rate);
}

static double tokens_now(const struct rate *rate, const struct bucket *b, double now_s)
{
    double tokens = b->tokens + (now_s - b->at_s) * rate->per_s;

    return tokens > rate->burst ? rate->burst : tokens;
}

/* A full bucket is as good as none.  When nobody's is full, the fullest goes. */
static void make_room(struct rate *rate, double now_s)
{
    size_t kept = 0, fullest = 0;

    for (size_t i = 0; i < rate->buckets.count; i++) {
        struct bucket b = rate->buckets.items[i];

        if (tokens_now(rate, &b, now_s) >= rate->burst) {
            map_remove(rate->index, b.key);
            continue;
        }
        rate->buckets.items[kept] = b;
        map_put(rate->index, b.key, kept);
        kept++;
    }
    rate->buckets.count = kept;
    if (kept < rate->most)
        return;
    for (size_t i = 1; i < kept; i++)
        if (tokens_now(rate, &rate->buckets.items[i], now_s) >
            tokens_now(rate, &rate->buckets.items[fullest], now_s))
            fullest = i;
    map_remove(rate->index, rate->buckets.items[fullest].key);
    rate->buckets.items[fullest] = rate->buckets.items[--rate->buckets.count];
    if (fullest < rate->buckets.count)
        map_put(rate->index, rate->buckets.items[fullest].key, fullest);
}

static struct bucket *bucket_of(struct rate *rate, uint64_t key, double now_s)
{
    size_t at;

    if (!map_get(rate->index, key, &at)) {
        if (rate->buckets.count >= rate->most)
            make_room(rate, now_s);
        at = rate->buckets.count;
        vec_push(&rate->buckets,
                 (struct bucket){.key = key, .tokens = rate->burst, .at_s = now_s});
        map_put(rate->index, key, at);
    }
    return &rate->buckets.items[at];
}

bool rate_take(struct rate *rate, uint64_t key, double tokens, double now_s,
               double *wait_s)
{
    struct bucket *b = bucket_of(rate, key, now_s);

    b->tokens = tokens_now(rate, b, now_s);
    b->at_s = now_s;
    if (b->tokens < tokens) {
        *wait_s = (tokens - b->tokens) / rate->per_s;
        return false;
    }
    b->tokens -= tokens;
    *wait_s = 0;
    return true;
}
