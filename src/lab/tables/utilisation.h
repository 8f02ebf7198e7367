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
