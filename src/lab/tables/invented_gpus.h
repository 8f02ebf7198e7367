/* invented_gpus.h - GPU types of a world that nobody has
 *
 * Half of the worlds have cards of the catalogue with figures off by a tenth, the others
 * invented ones; the slowest comes first. */
#pragma once

#include "base/rng.h"
#include "world/gpu_sheet.h"

/* For the option `draw` of world/generate.h. */
void invented_gpus(struct gpu_sheet *sheets, int count, struct rng *rng);
