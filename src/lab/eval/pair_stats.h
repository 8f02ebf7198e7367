/* pair_stats.h - sufficient statistics of what was measured, as features of a cell
 *
 * Boosted trees see no GPU or job names: only shrunk means and counts around a cell (its
 * GPU, the job's row, the co-runner's column, their families, the same pair elsewhere,
 * the mirrored cell), so they work for any number of GPU types and jobs. */
#pragma once

#include "model/gp.h"

#include <stdbool.h>
#include <stddef.h>

#define STATS_FEATURES 30

/* What was measured: log relative speeds of pairs.  Borrowed. */
struct stats_seen {
    const struct cell *cells;
    const double *values;
    size_t count;
};

/* Everything about cells of one job, for many co-runners, from what was measured.  Of the
 * core only jobs and GPUs count.  guests: jobs never added, see gp.h; NULL: none. */
struct stats_row;
struct stats_row *stats_row_create(const struct gp *core, const struct stats_seen *seen,
                                   int job, const struct gp_guests *guests);
void stats_row_destroy(struct stats_row *row); /* NULL is fine */

/* What is known of a cell besides its features. */
struct stats_cell {
    double base;  /* where a network's correction starts: shrunk means */
    double times; /* this very cell was measured */
};

/* without_own: as if the cell itself had not been measured (for training on it). */
struct stats_cell stats_features(struct stats_row *row, int gpu, int other,
                                 bool without_own, float x[STATS_FEATURES]);
