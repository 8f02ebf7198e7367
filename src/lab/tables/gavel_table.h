/* gavel_table.h - reader of Gavel's throughput tables
 *
 * JSON: worker type -> "('job', scale)" -> "null" (steps/s alone) or another such key (a
 * pair [rate of this job, rate of the other]; 0, 0 is a pair that failed).  A key may be
 * the job alone, then its scale is 1; of a job beside itself the mean of two rates
 * counts.  Types that end in "_unconsolidated" are the same GPU with the workers spread
 * over servers: a class they leave out does not run spread, and where there is no such
 * type spreading is taken to cost nothing.  Pairs are kept at scale 1 only: the tables
 * hold no other.  A pair faster than alone counts as 1.  Utilisation is not in the
 * tables: it is drawn from the seed with a plausible spread (utilisation.h), and the
 * caller says so in what it reports. */
#pragma once

#include "lab/tables/descriptors.h"
#include "world/world.h"

#include <stddef.h>
#include <stdint.h>

/* What was read otherwise than it stands there. */
struct gavel_notes {
    int plain_keys; /* jobs without a scale */
    int self_pairs; /* pairs of a job with itself whose rates differ */
};

/* GPU names must be in the catalogue.  The caller owns *world; on failure it is
 * untouched. */
int gavel_load(struct world **world, const char *path, uint64_t seed, struct err *err);
int gavel_load_noted(struct world **world, const char *path, uint64_t seed,
                     struct gavel_notes *notes, struct err *err);
