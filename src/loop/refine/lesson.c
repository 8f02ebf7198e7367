/* lesson.c - see lesson.h
 *
 * The loop asks after measurements (loop_lesson_begin) and takes what was studied. */
#include "loop/refine/lesson.h"

#include "base/mem.h"
#include "model/learned.h"

#include <stdlib.h>

/* A lesson is due when so many cells of pairs are new, and half as many as were known at
 * the last one: parameters settle as cells come, and a lesson costs more with each. */
#define CELLS_LEAST  20
#define CELLS_GROWTH 1.5

/* And not more often than this: cells come in bursts when many jobs start at once. */
#define GAP_S 60.0

struct lesson {
    struct learned_lesson *learned;
};

bool lesson_due(const struct model *model, double now_s)
{
    struct learned_progress p;

    if (model->ops != learned_model_ops())
        return false;
    p = learned_progress(model->self);
    return p.cells >= p.cells_then + CELLS_LEAST &&
           (double)p.cells >= CELLS_GROWTH * (double)p.cells_then &&
           (p.cells_then == 0 || now_s >= p.then_s + GAP_S);
}

struct lesson *lesson_begin(struct model *model, double now_s)
{
    struct lesson *lesson;

    if (!lesson_due(model, now_s))
        return NULL;
    lesson = mem_new(struct lesson);
    lesson->learned = learned_lesson_create(model->self, now_s);
    return lesson;
}

void lesson_study(struct lesson *lesson)
{
    learned_lesson_study(lesson->learned);
}

void lesson_take(struct model *model, struct lesson *lesson)
{
    learned_lesson_take(model->self, lesson->learned);
    free(lesson);
}

void lesson_destroy(struct lesson *lesson)
{
    if (!lesson)
        return;
    learned_lesson_destroy(lesson->learned);
    free(lesson);
}
