/* learned_lesson.h - what takes long of learning, away from the model
 *
 * Parameters of the core, P2, trees, weights and widths are fitted on a copy of what is
 * known of pairs: the owner of the model makes it, any thread studies it, the owner takes
 * it.  What was absorbed meanwhile counts. */
#pragma once

#include "model/blend.h"

#include <stdint.h>

struct gp;
struct pairs;
struct learned_lesson;

struct learned_lesson *learned_lesson_begin(const struct pairs *pairs, uint64_t seed);
void learned_lesson_study(struct learned_lesson *lesson);
void learned_lesson_end(struct learned_lesson *lesson,
                        struct pairs *pairs);               /* takes it */
void learned_lesson_destroy(struct learned_lesson *lesson); /* NULL is fine */

/* What the core says of an observation without it and without its other direction. */
struct blend_belief learned_lesson_leave_out(const struct gp *core,
                                             const double *precision, size_t index);
