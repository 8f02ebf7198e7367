/* utilisation.h - a plausible utilisation where a table of rates has none
 *
 * Drawn, not known: reports say so.  A family has a level and grows busier with its
 * batch; a stronger card is kept less busy by the same job, and so is one of many devices
 * that wait for one another. */
#pragma once

#include "world/world.h"

#include <stdint.h>

/* Fill all of world->busy from the names of the classes and the seed alone, so that the
 * order of the classes does not matter. */
void utilisation_draw(struct world *world, uint64_t seed);

/* How much less busy a device of a gang is than with the same job alone: rates of a gang
 * are sums over its devices, so what one of them does less of is what it waits. */
double utilisation_scaling(const struct world *world, int gpu, int cls);
