/* learned_lesson.h - what takes long of learning, away from the model
 *
 * Parameters of the core, P1, P2 and widths of intervals are fitted on a copy of what is
 * known of pairs: the owner of the model makes it, any thread studies it, the owner takes
 * it. What was absorbed meanwhile counts. */
#pragma once

#include <stdint.h>

struct pairs;
struct learned_lesson;

struct learned_lesson *learned_lesson_begin(const struct pairs *pairs, uint64_t seed);
void learned_lesson_study(struct learned_lesson *lesson);
void learned_lesson_end(struct learned_lesson *lesson,
                        struct pairs *pairs);               /* takes it */
void learned_lesson_destroy(struct learned_lesson *lesson); /* NULL is fine */
