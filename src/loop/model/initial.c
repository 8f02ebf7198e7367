/* initial.c - see initial.h */
#include "loop/model/initial.h"

#include "base/mem.h"

#include <stdlib.h>

static void initial_begin(void *self, const struct job *job)
{
    struct model *inner = self;

    inner->ops->begin(inner->self, job);
}

static void initial_end(void *self, const struct job *job)
{
    struct model *inner = self;

    inner->ops->end(inner->self, job);
}

static void initial_predict(void *self, const struct combination *where,
                            struct prediction *out)
{
    struct model *inner = self;

    inner->ops->predict(inner->self, where, out);
}

static void initial_absorb(void *self, const struct observation *seen)
{
    struct model *inner = self;

    if (seen->out_of_memory)
        inner->ops->absorb(inner->self, seen);
}

static void initial_destroy(void *self)
{
    struct model *inner = self;

    inner->ops->destroy(inner->self);
    free(inner);
}

static const struct model_ops initial_ops = {
    .name = "initial",
    .begin = initial_begin,
    .end = initial_end,
    .predict = initial_predict,
    .absorb = initial_absorb,
    .destroy = initial_destroy,
};

struct model initial_model_take(struct model refined)
{
    struct model *inner = mem_new(struct model);

    *inner = refined;
    return (struct model){.ops = &initial_ops, .self = inner};
}
