/* pair_experts.h - plainer experts beside the core and the networks
 *
 * Both answer from a view (pair_view.h): residuals of jobs that reach like rates alone.
 */
#pragma once

#include "model/blend.h"

/* A job's row is near those of jobs with like rates, and what is shown of it corrects the
 * rest as rows of the catalogue vary together.  out (count). */
void pair_experts_rows(const struct pair_sight *view, const int *cells, size_t count,
                       struct blend_said *out);

/* The mean of the nearest jobs by rates and work. */
void pair_experts_nearest(const struct pair_sight *view, const int *cells, size_t count,
                          struct blend_said *out);
