/* initial.h - another model without its refinement
 *
 * Predicts what the other one says before any measurement, and goes on saying it.  Only a
 * lack of memory is passed on: a placement that cannot run must not be tried for ever. */
#ifndef CORGI_LOOP_MODEL_INITIAL_H
#define CORGI_LOOP_MODEL_INITIAL_H

#include "loop/model.h"

/* Takes the other model and ends it with its own end. */
struct model initial_model_take(struct model refined);

#endif
