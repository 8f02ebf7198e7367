/* counters_csv.h - reader of what was counted of jobs while they ran alone, beside a
 * table of rates */
#pragma once

#include "model/kernel.h"
#include "world/world.h"

/* Fill counters (class_count) from a CSV (job,gpu,busy,memory_busy,watts,memory_gb,host);
 * a job may have a row for each GPU type, of which the mean counts.  What the file does
 * not tell is NaN.  On failure counters are as they were. */
int counters_csv_load(const struct world *world, const char *path,
                      struct job_counters *counters, struct err *err);

/* From the draw alone that the table of rates has itself. */
void counters_from_watts(const struct world *world, struct job_counters *counters);
