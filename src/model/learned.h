/* learned.h - the learned model: what Corgi believes, corrected by every measurement
 *
 * Implements struct model_ops.  A user's jobs told alike (family, batch, work, devices)
 * share a class (classes.h), so what one job taught serves the next, and other users' as
 * far as these agree; what sets a job apart from its class is kept beside (job_effects.h)
 * and belongs into every interval. */
#pragma once

#include "base/err.h"
#include "model/learned_lesson.h"
#include "model/model.h"
#include "model/network_choice.h"
#include "model/network_progress.h"

struct learned_options {
    uint64_t seed;
    size_t memory; /* cells of pairs kept; 0: LEARNED_MEMORY */
    /* First estimates alone, for comparisons: P1 and closed forms over the catalogue.
     * What was measured is known, and nothing is concluded from it for other places of
     * the job: no core, no P2, no trees, no factor of its own. */
    bool initial_only;
    enum network_choice networks; /* architecture of P1 and P2 */
    /* What a user measured of a kind or family of jobs informs no other user. */
    bool keep_users_apart;
};

#define LEARNED_MEMORY 512

/* Classes kept; of more those without jobs that were not used for longest are forgotten.
 * While more than these have jobs here there are more, at most so many: jobs of further
 * ones are of one class for each user. */
#define LEARNED_CLASSES      1024
#define LEARNED_CLASSES_MOST 2000

/* The types of the cluster in its order; the sheets are copied.  The caller ends it with
 * model.ops->destroy(model.self). */
struct model learned_create(const struct gpu_sheet *types, int type_count,
                            const struct learned_options *options);

/* What takes long (learned_lesson.h): loop/refine says when it is due. */
struct learned_lesson *learned_lesson_create(void *self, double now_s);
void learned_lesson_take(void *self, struct learned_lesson *lesson); /* ends it */

struct learned_progress {
    size_t cells;      /* pairs of classes on a type that were ever measured, */
    size_t cells_then; /* the same when the last lesson began, */
    double then_s;     /* and when that was; 0: never */
};
struct learned_progress learned_progress(const void *self);

/* What lessons made of P1 and P2 so far. */
const struct network_progress *learned_networks(const void *self); /* (PAIR_NETWORKS) */

/* Everything that was learned as bytes, for checkpoints; the caller frees them.  Changes
 * nothing. */
void learned_save(void *self, unsigned char **bytes, size_t *count);

/* Replace what was learned.  Refused, and nothing changes, when the bytes are cut or
 * altered, of another version, or of a cluster with other GPU types. */
int learned_load(void *self, const void *bytes, size_t count, struct err *err);

/* Jobs that were here when it was saved and for which here() says no have left. */
void learned_retain(void *self, bool (*here)(void *ctx, uint64_t job), void *ctx);

/* A model of this kind?  For those who have any model. */
extern const struct model_ops learned_ops;
