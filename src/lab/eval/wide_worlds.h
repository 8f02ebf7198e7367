/* wide_worlds.h - synthetic tables that vary as measured ones do, to train P1 and P2 on
 *
 * The generator's worlds (world/generate.h) follow a roofline model, so rows of one
 * family are nearly alike and descriptors explain nearly all.  Measured tables are not so
 * kind: each way in which they differ is put on a table with its probability. */
#pragma once

#include "base/rng.h"
#include "lab/eval/measured_table.h"

/* A table of 8 to 34 jobs of at least four families on 1 to 6 GPU types.  The caller ends
 * it with measured_destroy(). */
struct measured *wide_world_draw(struct rng *rng);

/* Where a table lies: what the comparison with measured tables is made of. */
enum wide_measure {
    WIDE_MEAN,
    WIDE_SD,
    WIDE_ROW_SD,
    WIDE_COLUMN_SD,
    WIDE_MATCH_SD,
    WIDE_ROW_SD_IN_FAMILY,
    WIDE_UNHARMED, /* share of cells that lose less than 2 % */
    WIDE_LOW,      /* 2 % quantile */
    WIDE_MEASURES
};
extern const char *const wide_measure_names[WIDE_MEASURES];
void wide_world_measure(const struct measured *table, double out[WIDE_MEASURES]);
