/* learning.c - lessons, and the bytes of all that was learned; see loop.h
 *
 * The daemon begins a lesson when one is due, has its planning thread study it and takes
 * it; the simulator does all three at once.  The daemon saves and loads the bytes. */
#include "loop/loop_private.h"
#include "loop/refine/lesson.h"

struct learned_lesson *loop_lesson_begin(struct loop *loop, double now_s)
{
    if (loop->studied || !lesson_due(&loop->model, now_s))
        return NULL;
    return learned_lesson_create(loop->model.self, now_s);
}

void loop_lesson_take(struct loop *loop, struct learned_lesson *lesson)
{
    if (loop->round_out)
        loop->studied = lesson;
    else
        learned_lesson_take(loop->model.self, lesson);
}

void loop_learn_due(struct loop *loop, double now_s)
{
    struct learned_lesson *lesson = loop_lesson_begin(loop, now_s);

    if (!lesson)
        return;
    learned_lesson_study(lesson);
    loop_lesson_take(loop, lesson);
}

int loop_save(const struct loop *loop, unsigned char **bytes, size_t *count,
              struct err *err)
{
    if (loop->model.ops != &learned_ops)
        return err_set(err, ERR_UNSUPPORTED, "the model %s cannot be saved",
                       loop->model.ops->name);
    learned_save(loop->model.self, bytes, count);
    return 0;
}

static bool is_here(void *ctx, uint64_t job)
{
    return jobs_get(((struct loop *)ctx)->jobs, job) != NULL;
}

void loop_forget_absent(struct loop *loop)
{
    if (loop->model.ops == &learned_ops)
        learned_retain(loop->model.self, is_here, loop);
}

int loop_load(struct loop *loop, const void *bytes, size_t count, struct err *err)
{
    if (loop->model.ops != &learned_ops)
        return err_set(err, ERR_UNSUPPORTED, "the model %s cannot be loaded",
                       loop->model.ops->name);
    return learned_load(loop->model.self, bytes, count, err);
}
