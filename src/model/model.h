/* model.h - what is believed of jobs and GPUs: asked by loop/estimate, corrected by
 * loop/refine
 *
 * Implementations: the learned model (learned.h); for comparisons the data-sheet model,
 * feedback alone and the simulator's oracle.  One thread owns it; others may ask. */
#pragma once

#include "model/model_types.h"

struct prediction_cache;

struct model_ops {
    const char *name;
    /* A job was admitted or has left; self may keep per-job state in between. */
    void (*begin)(void *self, const struct job *job);
    void (*end)(void *self, const struct job *job);
    /* Fill all of *out for one to LOOP_MAX_SHARE members.  Changes nothing: a job that
     * never began gets the answer it would get once it has, and any number of threads may
     * ask while nobody absorbs, begins or ends.  cache: what this reader keeps between
     * questions; NULL: nothing, and the answer is as of now. */
    void (*predict)(const void *self, struct prediction_cache *cache,
                    const struct combination *where, struct prediction *out);
    void (*absorb)(void *self, const struct observation *seen);
    void (*destroy)(void *self);
};

/* A model as one reader has it. */
struct model {
    const struct model_ops *ops;
    void *self;
    struct prediction_cache *cache; /* of this reader; NULL: none */
};
