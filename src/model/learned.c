/* learned.c - jobs and classes of the learned model: the loop begins and ends jobs here,
 * learned_predict.c and learned_absorb.c find who is asked about */
#include "model/learned.h"

#include "base/rng.h"
#include "model/learned_private.h"

#include <math.h>
#include <stdlib.h>

/* Where the learning of spreads starts: noise of windows, jobs of a class alone and
 * beside others. */
#define NOISE_SD       0.05
#define ALONE_SD       0.10
#define BESIDE_SD      0.08
#define SPREAD_SAMPLES 6.0

/* A training step costs three passes; a request one, with more overhead. */
#define SERVICE_FASTER 2.0
#define SERVICE_WEIGHT 0.5

static uint64_t hash_text(const char *text, uint64_t seed)
{
    uint64_t hash = rng_mix(seed, 1);

    for (const char *c = text; *c; c++)
        hash = rng_mix(hash, (uint64_t)*c);
    return hash | 1; /* 0 means none */
}

static uint64_t hash_number(uint64_t hash, double number)
{
    union {
        double number;
        uint64_t bits;
    } as = {number};

    return rng_mix(hash, as.bits);
}

/* Whom a job is like: told the same of it, else named the same by the same user. */
static uint64_t hash_job(const struct job *job, bool service)
{
    const struct job_descriptor *d = &job->descriptor;
    uint64_t hash;

    if (d->family[0]) {
        hash = hash_text(d->family, 2);
        hash = rng_mix(hash, (uint64_t)d->model << 32 | (uint64_t)d->batch);
        hash = hash_number(hash, d->gmac_per_sample);
        hash = hash_number(hash, d->params_millions);
        hash = hash_number(hash, d->memory_mb_per_sample);
    } else if (job->name[0]) {
        hash = rng_mix(hash_text(job->name, 3), (uint64_t)job->owner);
    } else {
        hash = rng_mix(job->id, 4);
    }
    return rng_mix(hash, service);
}

static int family_of(struct learned *l, const struct job_descriptor *d)
{
    if (!d->family[0])
        return -1;
    if (intern_count(l->families) >= KERNEL_FAMILIES)
        return intern_find(l->families, d->family);
    return intern_id(l->families, d->family);
}

static struct learned_class told_of(const struct job *job)
{
    const struct job_descriptor *d = &job->descriptor;
    bool service = job->kind == JOB_INFERENCE;

    return (struct learned_class){.name = hash_job(job, service),
                                  .family = d->family[0] ? hash_text(d->family, 5) : 0,
                                  .params_millions = d->params_millions,
                                  .service = service,
                                  .twin = -1};
}

static int class_of(struct learned *l, const struct job *job)
{
    struct learned_class new = told_of(job);
    size_t at;
    int cls;

    if (map_get(l->names, new.name, &at)) {
        l->kept.items[at].used = l->came;
        return (int)at;
    }
    if (l->kept.count >= LEARNED_CLASSES || l->classes->beside.count >= LEARNED_CELLS)
        learned_compact(l);
    new.used = l->came;
    cls = classes_add(l->classes, job, family_of(l, &job->descriptor));
    if (map_get(l->names, hash_job(job, !new.service), &at)) {
        new.twin = (int)at;
        l->kept.items[at].twin = cls;
    }
    vec_push(&l->kept, new);
    map_put(l->names, new.name, (size_t)cls);
    return cls;
}

void learned_begin(void *self, const struct job *job)
{
    struct learned *l = self;
    int cls;

    if (job_effects_find(l->own, job->id))
        return;
    l->came++;
    cls = class_of(l, job);
    job_effects_begin(l->own, job->id, cls, ++l->version);
    classes_arrive(l->classes, cls, 1);
}

/* What the class has learned stays: the next job of its kind starts from it. */
static void learned_end(void *self, const struct job *job)
{
    struct learned *l = self;
    const struct job_own *own = job_effects_find(l->own, job->id);

    if (!own)
        return;
    l->version++;
    classes_arrive(l->classes, own->cls, -1);
    job_effects_end(l->own, job->id);
}

void learned_retain(void *self, bool (*here)(void *ctx, uint64_t job), void *ctx)
{
    struct learned *l = self;
    const struct job_own *own = job_effects_next(l->own, NULL), *next;

    for (; own; own = next) {
        next = job_effects_next(l->own, own);
        if (!here(ctx, own->job))
            learned_end(l, &(struct job){.id = own->job});
    }
}

static void add_neighbour(struct learned_member *m, int cls, int who)
{
    int at = m->neighbours++;

    for (; at > 0 && m->others[at - 1] > cls; at--) {
        m->others[at] = m->others[at - 1];
        m->who[at] = m->who[at - 1];
    }
    m->others[at] = cls;
    m->who[at] = who;
}

/* The family number a guest would get: that of a family nobody told of yet is the next,
 * and the same for all guests of it. */
static int guest_family(const struct learned *l, const struct learned_question *asked,
                        const struct job_descriptor *d, uint64_t family)
{
    int number = d->family[0] ? intern_find(l->families, d->family) : -1;
    int next = intern_count(l->families);

    if (number >= 0 || !d->family[0] || next >= KERNEL_FAMILIES)
        return number;
    for (int i = 0; i < asked->guests.count; i++) {
        if (asked->guests_told[i].family == family)
            return asked->guests.traits[i].family;
        next += asked->guests.traits[i].family >= next;
    }
    return next;
}

/* The class of a job that may never have begun. */
static int class_asked(const struct learned *l, const struct job *job,
                       struct learned_question *asked)
{
    struct learned_class told = told_of(job);
    struct class_guests *guests = &asked->guests;
    int known = (int)l->kept.count;
    size_t at;

    if (map_get(l->names, told.name, &at))
        return (int)at;
    for (int i = 0; i < guests->count; i++)
        if (asked->guests_told[i].name == told.name)
            return known + i;
    guests->traits[guests->count] = job_trait_of(
        &job->descriptor, guest_family(l, asked, &job->descriptor, told.family));
    asked->guests_told[guests->count] = told;
    return known + guests->count++;
}

/* What the job needs of memory is its own: its user's word counts for it alone, and what
 * became of jobs of the same user told alike. */
static struct footprint_item size_of(const struct job *job,
                                     const struct learned_class *told)
{
    uint64_t who = rng_mix(told->name, (uint64_t)(int64_t)job->owner);

    return footprint_of(&job->descriptor, job->memory_gb,
                        hash_number(who, job->memory_gb));
}

void learned_members(const struct learned *l, struct prediction_cache *cache,
                     const struct combination *where, struct learned_question *asked,
                     struct learned_member *members)
{
    int known = (int)l->kept.count;

    asked->model = l;
    asked->cache = cache;
    asked->guests.count = asked->pair_count = 0;
    if (cache)
        prediction_cache_sync(cache, l->classes, l->generation);
    for (int i = 0; i < where->count; i++) {
        const struct member *m = &where->members[i];
        const struct job_own *own = job_effects_find(l->own, m->job->id);

        members[i] = (struct learned_member){
            .asked = asked,
            .job = m->job,
            .own = own,
            .cls = own ? own->cls : class_asked(l, m->job, asked),
            .type = where->type,
            .devices = m->job->devices > 1 ? m->job->devices : 1,
            .spread = m->nodes > 1,
            .demand = m->demand,
        };
        members[i].told = members[i].cls < known
                              ? &l->kept.items[members[i].cls]
                              : &asked->guests_told[members[i].cls - known];
        members[i].size = size_of(m->job, members[i].told);
    }
    for (int i = 0; i < where->count; i++)
        for (int k = 0; k < where->count; k++)
            if (k != i)
                add_neighbour(&members[i], members[k].cls, k);
    learned_fill_busy(members, where->count);
}

static void learned_destroy(void *self)
{
    struct learned *l = self;

    if (!l)
        return;
    prediction_cache_destroy(l->absorbing);
    classes_destroy(l->classes);
    gangs_destroy(l->scale);
    job_effects_destroy(l->own);
    intern_destroy(l->families);
    map_destroy(l->names);
    vec_free(&l->kept);
    free(l);
}

const struct model_ops learned_ops = {
    .name = "learned",
    .begin = learned_begin,
    .end = learned_end,
    .predict = learned_predict,
    .absorb = learned_absorb,
    .destroy = learned_destroy,
};

struct model learned_create(const struct gpu_sheet *types, int type_count,
                            const struct learned_options *options)
{
    struct learned *l = mem_new(struct learned);

    l->options = *options;
    l->classes = classes_create(types, type_count,
                                options->memory > 0 ? options->memory : LEARNED_MEMORY,
                                options->initial_only);
    l->scale = gangs_create(l->classes->types);
    l->own = job_effects_create();
    l->absorbing = prediction_cache_create(PREDICTION_CACHE_CELLS);
    l->families = intern_create();
    l->names = map_create();
    l->noise[0] = pooled_start(NOISE_SD * NOISE_SD, SPREAD_SAMPLES);
    l->noise[1] = pooled_start(NOISE_SD * NOISE_SD, SPREAD_SAMPLES);
    l->alone = pooled_start(ALONE_SD * ALONE_SD, SPREAD_SAMPLES);
    l->beside = pooled_start(BESIDE_SD * BESIDE_SD, SPREAD_SAMPLES);
    calibration_init(&l->calibration);
    l->service =
        (struct learned_shift){log(SERVICE_FASTER), SERVICE_WEIGHT, log(SERVICE_FASTER)};
    return (struct model){&learned_ops, l, NULL};
}
