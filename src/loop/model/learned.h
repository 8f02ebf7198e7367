/* learned.h - the learned model: what Corgi believes, corrected by every measurement
 *
 * Implements struct model_ops.  Jobs told alike (family, batch, work, devices) share a
 * class, so what one job taught serves the next.  Rates alone come from rates.h, relative
 * speeds from pairs.h, memory from footprint.h, power from watts.h. */
#ifndef CORGI_LOOP_MODEL_LEARNED_H
#define CORGI_LOOP_MODEL_LEARNED_H

#include "loop/model.h"

struct learned_options {
    uint64_t seed;
    /* Adapt parameters, networks and intervals after so many new cells, inside absorb;
     * 0: the caller does it with learned_adapt(), away from the loop's thread. */
    int adapt_every;
};

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
