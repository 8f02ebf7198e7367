/* footprint.h - does a set of jobs fit in a card's memory
 *
 * A footprint starts from what the user told, else from parameters and batch, and is
 * corrected by outcomes: what ran fitted, what failed for lack of memory did not.  A
 * combination that failed on a card is never called fitting there again. */
#ifndef CORGI_MODEL_FOOTPRINT_H
#define CORGI_MODEL_FOOTPRINT_H

#include "base/vec.h"
#include "model/codec.h"
#include "world/descriptor.h"

struct footprint_item {
    double gb;
    bool told; /* by the user, a descriptor or an outcome */
};

#define FOOTPRINT_MEMBERS 8 /* told apart of those that failed together */

struct footprint_failure {
    int type;
    size_t count;
    int classes[FOOTPRINT_MEMBERS]; /* sorted */
};

struct footprint {
    vec_of(struct footprint_item) items; /* (classes) */
    vec_of(struct footprint_failure) failures;
};

struct footprint *footprint_create(void);
void footprint_destroy(struct footprint *footprint); /* NULL is fine */

/* What is believed before anything ran; told_gb 0: unknown. */
struct footprint_item footprint_of(const struct job_descriptor *descriptor,
                                   double told_gb);

/* Classes count from 0. */
int footprint_add(struct footprint *footprint, const struct job_descriptor *descriptor,
                  double told_gb);

/* Probability that these classes fit together on a card of this type.  guests: classes
 * that were never added count on from the last; NULL: none. */
double footprint_fits(const struct footprint *footprint, int type, double memory_gb,
                      const int *classes, size_t count,
                      const struct footprint_item *guests);

/* Has the class by itself been seen to fail on some card? */
bool footprint_failed_alone(const struct footprint *footprint, int cls);

/* What happened when they ran together. */
void footprint_ran(struct footprint *footprint, double memory_gb, const int *classes,
                   size_t count);
void footprint_failed(struct footprint *footprint, int type, double memory_gb,
                      const int *classes, size_t count);

/* For checkpoints; reading starts from an empty one. */
void footprint_code(struct footprint *footprint, struct codec *c);

#endif
