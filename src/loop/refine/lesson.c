/* lesson.c - loop_lesson_begin() asks after measurements whether a lesson is due */
#include "loop/refine/lesson.h"

#include "model/learned.h"

/* A lesson is due when so many cells of pairs are new, and half as many as were known at
 * the last one: parameters settle as cells come, and a lesson costs more with each. */
#define CELLS_LEAST  20
#define CELLS_GROWTH 1.5

/* And not more often than this: cells come in bursts when many jobs start at once. */
#define GAP_S 60.0

bool lesson_due(const struct model *model, double now_s)
{
    struct learned_progress p;

    if (model->ops != &learned_ops)
        return false;
    p = learned_progress(model->self);
    return p.cells >= p.cells_then + CELLS_LEAST &&
           (double)p.cells >= CELLS_GROWTH * (double)p.cells_then &&
           (p.cells_then == 0 || now_s >= p.then_s + GAP_S);
}
