/* rng.h - random numbers from a seed that is always an argument
 *
 * xoshiro256**: the same seed gives the same numbers on every machine.  Give each use a
 * stream of its own (rng_stream), so that one more draw in one place does not shift all
 * the others. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct rng {
    uint64_t s[4];
};

void rng_init(struct rng *rng, uint64_t seed);

/* An independent generator for (seed, stream); streams are small numbers the caller
 * names. */
void rng_stream(struct rng *rng, uint64_t seed, uint64_t stream);

/* A well-mixed 64-bit hash of two numbers, for factors that must not depend on draw
 * order. */
uint64_t rng_mix(uint64_t a, uint64_t b);

uint64_t rng_u64(struct rng *rng);
double rng_uniform(struct rng *rng); /* [0, 1) */
double rng_range(struct rng *rng, double low, double high);
double rng_log_range(struct rng *rng, double low,
                     double high);  /* uniform in the logarithm */
double rng_normal(struct rng *rng); /* mean 0, sd 1 */
double rng_exponential(struct rng *rng, double mean);
size_t rng_below(struct rng *rng, size_t count); /* 0 .. count-1; count > 0 */
