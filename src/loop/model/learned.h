/* learned.h - the learned model: what Corgi believes, corrected by every measurement
 *
 * Implements struct model_ops.  Jobs told alike (family, batch, work, devices) share a
 * class (classes.h), so what one job taught serves the next; what sets a job apart from
 * its class is kept beside (own.h) and belongs into every interval. */
#ifndef CORGI_LOOP_MODEL_LEARNED_H
#define CORGI_LOOP_MODEL_LEARNED_H

#include "loop/model.h"

struct learned_options {
    uint64_t seed;
    /* Adapt parameters, networks and intervals inside absorb, after so many new cells
     * and then whenever their number has doubled; 0: the caller does it with
     * learned_adapt(), away from the loop's thread. */
    int adapt_every;
    size_t memory; /* cells of pairs kept; 0: LEARNED_MEMORY */
};

#define LEARNED_MEMORY 512

/* The types of the cluster in its order; the sheets are copied.  The caller ends it with
 * model.ops->destroy(model.self). */
struct model learned_create(const struct gpu_sheet *types, int type_count,
                            const struct learned_options *options);

void learned_adapt(void *self);

/* Observations absorbed so far, and sudden changes noticed. */
struct learned_counts {
    size_t rates, pairs, changes, failures;
};
struct learned_counts learned_count(const void *self);

#endif
