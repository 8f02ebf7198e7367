/* world_check.h - are figures that were read ones a card, or a cluster, could have? */
#pragma once

#include "world/world.h"

/* Refuses a sheet with figures no card can have; err names the field. */
int gpu_check(const struct gpu_sheet *sheet, struct err *err);

/* May a world of this size be built?  err says which limit it passes. */
int world_check_size(size_t gpu_count, size_t class_count, struct err *err);

/* Refuses tables with negative, infinite or absurd values; err names the cell. */
int world_check(const struct world *world, struct err *err);
