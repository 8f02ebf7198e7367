/* lesson.h - the slow part of learning: when it is due, and on a copy
 *
 * A model absorbs what is measured at once.  Fitting its parameters, networks and widths
 * anew takes up to seconds: the owner begins a lesson (a copy of what is fitted), any
 * thread studies it while the owner goes on absorbing, the owner takes the result.  The
 * daemon studies on its planning thread, the simulator at once; when one is due follows
 * from the loop's clock and from what was measured, so that both do the same. */
#ifndef CORGI_LOOP_REFINE_LESSON_H
#define CORGI_LOOP_REFINE_LESSON_H

#include "model/model.h"

struct lesson;

/* Models that have nothing to fit are never due. */
bool lesson_due(const struct model *model, double now_s);

/* On the owner's thread; NULL when none is due. */
struct lesson *lesson_begin(struct model *model, double now_s);
void lesson_study(struct lesson *lesson); /* on any thread */
/* On the owner's thread, while nobody reads the model; ends the lesson. */
void lesson_take(struct model *model, struct lesson *lesson);
void lesson_destroy(struct lesson *lesson); /* instead; NULL is fine */

#endif
