/* footprint.h - does a set of jobs fit in a card's memory
 *
 * A footprint starts from what the user told, else from parameters and batch, and is
 * corrected by outcomes: what ran fitted, what failed for lack of memory did not, and
 * what was seen to be held is held.  A combination that failed on a card is never called
 * fitting there again.  Outcomes are kept by whom they are of (`who`): what was told and
 * by which user is part of that, so that no job changes what another may claim. */
#pragma once

#include "base/vec.h"
#include "model/codec.h"
#include "world/descriptor.h"

/* A job as it is asked about. */
struct footprint_item {
    uint64_t who;
    double gb; /* before any outcome */
    bool told; /* by the user or a descriptor */
};

#define FOOTPRINT_MEMBERS 8 /* told apart of those that failed together */

struct footprint_failure {
    int type;
    size_t count;
    uint64_t who[FOOTPRINT_MEMBERS]; /* sorted */
};

struct footprint_outcome {
    uint64_t who;
    double gb;   /* believed from now on; 0: what was told */
    bool failed; /* is part of a failure */
};

struct footprint {
    struct map *index;                      /* who -> known */
    vec_of(struct footprint_outcome) known; /* of whom outcomes say more, oldest first */
    vec_of(struct footprint_failure) failures; /* oldest first */
};

struct footprint *footprint_create(void);
void footprint_destroy(struct footprint *footprint); /* NULL is fine */

/* What is believed before anything ran; told_gb 0: unknown. */
struct footprint_item footprint_of(const struct job_descriptor *descriptor,
                                   double told_gb, uint64_t who);

/* What is believed now, GB. */
double footprint_gb(const struct footprint *footprint, const struct footprint_item *item);

/* Probability that these fit together on a card of this type. */
double footprint_fits(const struct footprint *footprint, int type, double memory_gb,
                      const struct footprint_item *items, size_t count);

/* Has it by itself been seen to fail on some card? */
bool footprint_failed_alone(const struct footprint *footprint, uint64_t who);

/* What happened when they ran together. */
void footprint_ran(struct footprint *footprint, double memory_gb,
                   const struct footprint_item *items, size_t count);
void footprint_failed(struct footprint *footprint, int type, double memory_gb,
                      const struct footprint_item *items, size_t count);
/* One of them was seen to hold so much: at least that is what it needs, and instead of a
 * mere guess a little more. */
void footprint_held(struct footprint *footprint, const struct footprint_item *item,
                    double gb);

/* For checkpoints; reading starts from an empty one. */
void footprint_code(struct footprint *footprint, struct codec *c);
