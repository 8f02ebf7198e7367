/* descriptors.h - reader of what is told of job families, beside a table of rates */
#pragma once

#include "world/world.h"

#include <stddef.h>

/* Fill descriptors from a CSV of families (family,kind,forward_gmac_per_sample,
 * params_millions,memory_mb_per_sample); families the file does not name stay bare, and
 * so does an empty field.  On failure the world is as it was. */
int descriptors_load(struct world *world, const char *path, struct err *err);

/* "ResNet-18 (batch size 32)" -> family "ResNet-18", batch 32; a name without a batch is
 * its own family, batch 0.  ERR_LIMIT when the family does not fit. */
int descriptors_from_name(struct job_descriptor *descriptor, const char *name,
                          struct err *err);
