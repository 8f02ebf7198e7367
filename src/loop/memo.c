/* memo.c - see memo.h */
#include "loop/memo.h"

#include "base/map.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/vec.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Some ten megabytes; then everything is forgotten. */
#define ANSWERS_MOST 50000

struct memo {
    struct model *model;
    struct map *index; /* hash of the question -> answer */
    vec_of(struct prediction) answers;
    struct map *kinds; /* job -> hash of what was told of it */
};

struct memo *memo_create(void)
{
    struct memo *m = mem_new(struct memo);

    m->index = map_create();
    m->kinds = map_create();
    return m;
}

void memo_destroy(struct memo *m)
{
    if (!m)
        return;
    map_destroy(m->index);
    map_destroy(m->kinds);
    vec_free(&m->answers);
    free(m);
}

void memo_forget(struct memo *m)
{
    map_destroy(m->index);
    map_destroy(m->kinds);
    m->index = map_create();
    m->kinds = map_create();
    vec_clear(&m->answers);
}

static uint64_t mix_double(uint64_t hash, double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof(bits));
    return rng_mix(hash, bits);
}

/* A job without a family is like no other. */
static uint64_t describe(const struct job *job)
{
    const struct job_descriptor *d = &job->descriptor;
    uint64_t hash = rng_mix((uint64_t)d->model, (uint64_t)d->batch);

    if (!d->family[0])
        hash = rng_mix(hash, job->id);
    for (const char *c = d->family; *c; c++)
        hash = rng_mix(hash, (uint64_t)(unsigned char)*c);
    hash = mix_double(hash, d->gmac_per_sample);
    hash = mix_double(hash, d->params_millions);
    hash = mix_double(hash, d->memory_mb_per_sample);
    hash = mix_double(hash, job->memory_gb);
    return rng_mix(hash, (uint64_t)job->devices << 1 | (job->kind == JOB_INFERENCE));
}

static uint64_t kind_of(struct memo *m, const struct job *job)
{
    size_t hash;

    if (map_get(m->kinds, job->id, &hash))
        return hash;
    hash = (size_t)describe(job);
    map_put(m->kinds, job->id, hash);
    return hash;
}

/* Demands move all the time: those a tenth apart at most are answered alike. */
static uint64_t about(double demand)
{
    return demand > 0 ? (uint64_t)(int64_t)lround(10 * log(demand)) : UINT64_MAX;
}

static uint64_t question(struct memo *m, const struct combination *where)
{
    uint64_t hash = mix_double((uint64_t)where->type + 1, where->cap_watts);

    for (int i = 0; i < where->count; i++) {
        hash = rng_mix(hash, kind_of(m, where->members[i].job));
        hash = rng_mix(hash, (uint64_t)where->members[i].nodes);
        hash = rng_mix(hash, about(where->members[i].demand));
    }
    return hash;
}

static void memo_predict(void *self, const struct combination *where,
                         struct prediction *out)
{
    struct memo *m = self;
    uint64_t key = question(m, where);
    size_t at;

    if (map_get(m->index, key, &at)) {
        *out = m->answers.items[at];
        return;
    }
    m->model->ops->predict(m->model->self, where, out);
    if (m->answers.count == ANSWERS_MOST)
        memo_forget(m);
    map_put(m->index, key, m->answers.count);
    vec_push(&m->answers, *out);
}

static void memo_begin(void *self, const struct job *job)
{
    struct memo *m = self;

    m->model->ops->begin(m->model->self, job);
}

static void memo_end(void *self, const struct job *job)
{
    struct memo *m = self;

    map_remove(m->kinds, job->id);
    m->model->ops->end(m->model->self, job);
}

static void memo_absorb(void *self, const struct observation *seen)
{
    struct memo *m = self;

    m->model->ops->absorb(m->model->self, seen);
    memo_forget(m);
}

static void memo_nothing(void *self)
{
    (void)self; /* neither the memo nor the model is this one's to end */
}

static const struct model_ops memo_ops = {
    .name = "memo",
    .begin = memo_begin,
    .end = memo_end,
    .predict = memo_predict,
    .absorb = memo_absorb,
    .destroy = memo_nothing,
};

struct model memo_of(struct memo *m, struct model *model)
{
    m->model = model;
    return (struct model){&memo_ops, m};
}
