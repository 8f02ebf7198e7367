/* gavel.h - reader of Gavel's throughput tables
 *
 * JSON: worker type -> "('job', scale)" -> "null" (steps/s alone) or another such key (a
 * pair [rate of this job, rate of the other]; 0, 0 is a pair that failed).  Types that
 * end in
 * "_unconsolidated" are the same GPU with the workers spread over servers.  Pairs are
 * kept at scale 1 only: the tables hold no other.  Utilisation is not in the tables: it
 * is drawn from the seed with a plausible spread, and the caller says so in what it
 * reports. */
#ifndef CORGI_WORLD_GAVEL_H
#define CORGI_WORLD_GAVEL_H

#include "world/world.h"

#include <stdint.h>

/* GPU names must be in the catalogue.  The caller owns *world. */
int gavel_load(struct world **world, const char *path, uint64_t seed, struct err *err);

/* Fill descriptors from a CSV of families (family,kind,forward_gmac_per_sample,
 * params_millions,memory_mb_per_sample); families the file does not name stay bare. */
int descriptors_load(struct world *world, const char *path, struct err *err);

#endif
