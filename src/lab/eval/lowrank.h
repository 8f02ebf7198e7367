/* lowrank.h - complete a row of a matrix from a few of its entries by low rank
 *
 * The classical baseline: principal axes of the catalogue's rows, the new row's factors
 * by ridge regression on what was seen. */
#pragma once

#include <stddef.h>

struct lowrank;

/* rows (count, columns) with NaN where unknown.  The rank is chosen among 1, 2, 3 and 5
 * by leaving out each row in turn and showing `shown` of its entries. */
struct lowrank *lowrank_create(const double *rows, size_t count, size_t columns,
                               size_t shown);
void lowrank_destroy(struct lowrank *model); /* NULL is fine */

void lowrank_complete(const struct lowrank *model, const size_t *seen,
                      const double *values, size_t seen_count, double *out);
