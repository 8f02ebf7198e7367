/* stat_rows.h - statistics around the cells of a held-out job, for boosted trees */
#pragma once

#include "lab/eval/fold.h"
#include "lab/eval/gbt.h"

struct stat_rows;

struct stat_rows *stat_rows_create(const struct fold *fold);
void stat_rows_destroy(struct stat_rows *rows); /* NULL is fine */

/* Of the asked half of the cells (fold_half) after some were seen, borrowed until the
 * next call. */
const struct stat_row *stat_rows_fill(struct stat_rows *rows, int job, const size_t *seen,
                                      size_t seen_count, bool effect);

/* Trees trained inside the catalogue on the game that is played outside: each job of it
 * (with its family, where the fold splits by family) is held out in turn, a few of its
 * pairs are shown, and its other cells become rows. */
struct gbt *stat_rows_grow(const struct fold *fold);
