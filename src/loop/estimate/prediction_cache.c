/* prediction_cache.c - see prediction_cache.h */
#include "loop/estimate/prediction_cache.h"

#include "base/map.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/vec.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Some ten megabytes; then everything is forgotten. */
#define ANSWERS_MOST 50000

struct prediction_cache {
    struct model *model;
    struct map *index; /* hash of the question -> answer */
    vec_of(struct prediction) answers;
    struct map *kinds; /* job -> hash of what was told of it */
};

struct prediction_cache *prediction_cache_create(void)
{
    struct prediction_cache *m = mem_new(struct prediction_cache);

    m->index = map_create();
    m->kinds = map_create();
    return m;
}

void prediction_cache_destroy(struct prediction_cache *m)
{
    if (!m)
        return;
    map_destroy(m->index);
    map_destroy(m->kinds);
    vec_free(&m->answers);
    free(m);
}

void prediction_cache_forget(struct prediction_cache *m)
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

static uint64_t kind_of(struct prediction_cache *m, const struct job *job)
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

static uint64_t question(struct prediction_cache *m, const struct combination *where)
{
    uint64_t hash = mix_double((uint64_t)where->type + 1, where->cap_watts);

    for (int i = 0; i < where->count; i++) {
        hash = rng_mix(hash, kind_of(m, where->members[i].job));
        hash = rng_mix(hash, (uint64_t)where->members[i].nodes);
        hash = rng_mix(hash, about(where->members[i].demand));
    }
    return hash;
}

static void prediction_cache_predict(void *self, const struct combination *where,
                                     struct prediction *out)
{
    struct prediction_cache *m = self;
    uint64_t key = question(m, where);
    size_t at;

    if (map_get(m->index, key, &at)) {
        *out = m->answers.items[at];
        return;
    }
    m->model->ops->predict(m->model->self, where, out);
    if (m->answers.count == ANSWERS_MOST)
        prediction_cache_forget(m);
    map_put(m->index, key, m->answers.count);
    vec_push(&m->answers, *out);
}

static void prediction_cache_begin(void *self, const struct job *job)
{
    struct prediction_cache *m = self;

    m->model->ops->begin(m->model->self, job);
}

static void prediction_cache_end(void *self, const struct job *job)
{
    struct prediction_cache *m = self;

    map_remove(m->kinds, job->id);
    m->model->ops->end(m->model->self, job);
}

static void prediction_cache_absorb(void *self, const struct observation *seen)
{
    struct prediction_cache *m = self;

    m->model->ops->absorb(m->model->self, seen);
    prediction_cache_forget(m);
}

static void prediction_cache_nothing(void *self)
{
    (void)self; /* neither the memo nor the model is this one's to end */
}

static const struct model_ops prediction_cache_ops = {
    .name = "memo",
    .begin = prediction_cache_begin,
    .end = prediction_cache_end,
    .predict = prediction_cache_predict,
    .absorb = prediction_cache_absorb,
    .destroy = prediction_cache_nothing,
};

struct model prediction_cache_of(struct prediction_cache *m, struct model *model)
{
    m->model = model;
    return (struct model){&prediction_cache_ops, m};
}
