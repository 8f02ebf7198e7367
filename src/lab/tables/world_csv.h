/* world_csv.h - reader of our own table of rates
 *
 * CSV with the columns gpu, job, rate, and when known family, batch, scale, corunner,
 * corunner_rate, watts, spread_rate.  A row without corunner is a rate alone, a row with
 * one a pair at the same scale; see docs/formats.md.  Utilisation is worked back from
 * watts where a row tells them and drawn from the seed elsewhere (utilisation.h). */
#pragma once

#include "world/world.h"

#include <stddef.h>
#include <stdint.h>

/* Cards are looked up in sheets_path first (NULL: no such file), then in the catalogue.
 * The caller owns *world; on failure it is untouched. */
int world_csv_load(struct world **world, const char *path, const char *sheets_path,
                   uint64_t seed, struct err *err);
