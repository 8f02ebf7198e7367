/* model.h - what is believed of jobs and GPUs: asked by estimate/, corrected by refine/
 *
 * Implementations: the data-sheet model (model/datasheet.h), the learned one, and the
 * simulator's oracle.  Not thread-safe: the loop thread owns it. */
#ifndef CORGI_MODEL_MODEL_H
#define CORGI_MODEL_MODEL_H

#include "model/model_types.h"

struct model_ops {
    const char *name;
    /* A job was admitted or has left; self may keep per-job state in between. */
    void (*begin)(void *self, const struct job *job);
    void (*end)(void *self, const struct job *job);
    /* Fill all of *out for one to LOOP_MAX_SHARE members, each begun before. */
    void (*predict)(void *self, const struct combination *where, struct prediction *out);
    void (*absorb)(void *self, const struct observation *seen);
    void (*destroy)(void *self);
};

struct model {
    const struct model_ops *ops;
    void *self;
};

#endif
