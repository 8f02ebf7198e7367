/* rng.c - random numbers: xoshiro256** seeded by splitmix64 */
#include "base/rng.h"

#include <assert.h>
#include <math.h>

static uint64_t splitmix64(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static uint64_t rotate_left(uint64_t x, int by)
{
    return (x << by) | (x >> (64 - by));
}

void rng_init(struct rng *rng, uint64_t seed)
{
    for (int i = 0; i < 4; i++)
        rng->s[i] = splitmix64(&seed);
}

void rng_stream(struct rng *rng, uint64_t seed, uint64_t stream)
{
    rng_init(rng, rng_mix(seed, stream));
}

uint64_t rng_mix(uint64_t a, uint64_t b)
{
    uint64_t state = a;

    state = splitmix64(&state) ^ b;
    return splitmix64(&state);
}

uint64_t rng_u64(struct rng *rng)
{
    uint64_t *s = rng->s;
    uint64_t result = rotate_left(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;

    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate_left(s[3], 45);
    return result;
}

double rng_uniform(struct rng *rng)
{
    return (double)(rng_u64(rng) >> 11) * 0x1p-53;
}

double rng_range(struct rng *rng, double low, double high)
{
    return low + (high - low) * rng_uniform(rng);
}

double rng_log_range(struct rng *rng, double low, double high)
{
    assert(low > 0 && high >= low);
    return exp(rng_range(rng, log(low), log(high)));
}

double rng_normal(struct rng *rng)
{
    /* Box-Muller without keeping the second value: a generator stays four plain words. */
    double u = 1.0 - rng_uniform(rng);
    double v = rng_uniform(rng);

    return sqrt(-2.0 * log(u)) * cos(2.0 * M_PI * v);
}

double rng_exponential(struct rng *rng, double mean)
{
    return -mean * log(1.0 - rng_uniform(rng));
}

size_t rng_below(struct rng *rng, size_t count)
{
    assert(count > 0);
    return (size_t)(rng_uniform(rng) * (double)count);
}
