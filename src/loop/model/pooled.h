/* pooled.h - variances learned from many small samples
 *
 * How noisy windows are, how far jobs of one class differ: each sample tells little, so
 * they are pooled, start from a prior that counts as some samples, and fade. */
#ifndef CORGI_LOOP_MODEL_POOLED_H
#define CORGI_LOOP_MODEL_POOLED_H

#include "loop/core/bytes.h"

struct pooled {
    double sum, weight; /* of squares */
};

/* Start at a variance that counts as so many samples. */
struct pooled pooled_start(double var, double weight);

double pooled_var(const struct pooled *pool);

/* A squared deviation; one far out counts as if it were nearer. */
void pooled_add(struct pooled *pool, double square);

void pooled_write(const struct pooled *pool, struct bytes_out *out);
void pooled_read(struct pooled *pool, struct bytes_in *in);

#endif
