/* estimator_method.h - a way to estimate how a held-out job runs beside others
 *
 * One interface for the product and the baselines, so that every table compares them on
 * the same cells.  Values are log relative speeds. */
#pragma once

#include "lab/eval/fold.h"

struct pairs;

/* A 90 % interval around a point, of log values. */
struct guess {
    double mid, low, high; /* low and high NaN: the method has no interval */
};

struct method {
    const char *name;
    /* Learn from the catalogue of a fold as the method of this name; the caller owns the
     * result. */
    void *(*fit)(const struct fold *fold, const char *name);
    /* Fill the asked half of out (2 * fold_half; own speeds, or effect) for a held-out
     * job of which the cells `seen` were measured.  effect: both speeds of each measured
     * pair are in `seen`. */
    void (*predict)(void *self, int job, const size_t *seen, size_t seen_count,
                    bool effect, struct guess *out);
    void (*destroy)(void *self);
};

/* Of larger catalogues the product is told pairs drawn at random. */
#define EVAL_PAIRS_MAX 1900

/* The pairs of the daemon's model for a table's jobs and GPUs, nothing measured beside
 * others yet; and a lesson on what was told. */
struct pairs *eval_pairs_create(const struct measured *table);
void eval_pairs_study(struct pairs *pairs, uint64_t seed);

extern const struct method method_product[]; /* both end with a NULL name */
extern const struct method method_baselines[];
