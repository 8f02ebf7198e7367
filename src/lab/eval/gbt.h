/* gbt.h - gradient-boosted regression trees
 *
 * The strongest of the baselines: a learner that knows this catalogue only.  Histogram
 * splits over binned features, squared error, shrinkage. */
#pragma once

#include "lab/eval/pair_stats.h"

#include <stddef.h>

struct gbt;

struct stat_row {
    float x[STATS_FEATURES];
    float base;   /* shrunk means */
    float target; /* training only */
};

/* x (rows, columns), y (rows). */
struct gbt *gbt_train(const float *x, const float *y, size_t rows, size_t columns,
                      int trees);
void gbt_destroy(struct gbt *gbt); /* NULL is fine */
double gbt_predict(const struct gbt *gbt, const float *x);

/* Trees for what shrunk means leave over. */
struct gbt *gbt_from_rows(const struct stat_row *rows, size_t count);
