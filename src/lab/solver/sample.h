/* sample.h - prices without an LP: dual ascent on a sample of the tasks
 *
 * When types x classes is too large for the class LP, a few hundred tasks drawn evenly
 * over classes and needs are matched again and again with the number of devices scaled
 * down; types wanted by too many become dearer, by steps that shrink. */
#pragma once

#include "lab/solver/graph.h"

/* Set w->price; w->pi is a guess from them. */
void sample_prices(struct work *w, int size, int rounds);

/* One step of prices against the demand of g's matching; g is refreshed. */
void sample_step(struct graph *g, double step_watts);
