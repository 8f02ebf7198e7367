/* lesson.h - when the slow part of learning is due
 *
 * A model absorbs what is measured at once.  Fitting its parameters, networks and widths
 * anew takes up to seconds: that is a lesson (model/learned.h).  The daemon studies on
 * its planning thread, the simulator at once; when one is due follows from the loop's
 * clock and from what was measured, so that both do the same. */
#pragma once

#include "model/model.h"

/* Models that have nothing to fit are never due. */
bool lesson_due(const struct model *model, double now_s);
