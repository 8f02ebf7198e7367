/* gbt.h - gradient-boosted regression trees
 *
 * The learner that knows this cluster only: a second opinion beside P2 in the blend, and
 * a strong baseline of its own.
 *
 * Histogram splits over binned features, squared error, shrinkage. */
#pragma once

#include "model/codec.h"
#include "model/stat_network.h"

#include <stdbool.h>
#include <stddef.h>

struct gbt;

/* x (rows, columns), y (rows). */
struct gbt *gbt_train(const float *x, const float *y, size_t rows, size_t columns,
                      int trees);
void gbt_destroy(struct gbt *gbt); /* NULL is fine */
double gbt_predict(const struct gbt *gbt, const float *x);

/* Trees for what shrunk means leave over, from rows of statistics; those of one group are
 * left out (-1: none; group NULL: all are used). */
struct gbt *gbt_from_rows(const struct statnet_row *rows, const int *group, int without,
                          size_t count);

/* For checkpoints: of the trees themselves, cuts are only needed to grow.  Reading puts
 * new ones of so many columns in place of *gbt (NULL: none yet). */
void gbt_code(struct gbt **gbt, size_t columns, struct codec *c);
