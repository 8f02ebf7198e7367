/* learned.c - jobs and classes of the learned model: the loop begins and ends jobs here,
 * learned_predict.c and learned_absorb.c find who is asked about */
#include "model/learned.h"

#include "base/rng.h"
#include "base/str.h"
#include "model/learned_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* Whom a job is like, whoever's it is: told the same of it, else named the same by the
 * same user. */
static uint64_t hash_kind(const struct job *job, bool service)
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

static uint64_t of_user(uint64_t hash, int user)
{
    return rng_mix(hash, (uint64_t)(int64_t)user) | 1;
}

static int number_of(struct intern *names, const char *name)
{
    if (intern_count(names) >= KERNEL_FAMILIES)
        return intern_find(names, name);
    return intern_id(names, name);
}

/* The family by its name, and as this user's own. */
static void number_family(struct learned *l, const struct job *job,
                          struct class_told *told)
{
    char own[LEARNED_FAMILY_SIZE];

    told->family = told->own_family = -1;
    if (!job->descriptor.family[0])
        return;
    snprintf(own, sizeof(own), "%d %s", job->owner, job->descriptor.family);
    told->family = number_of(l->families, job->descriptor.family);
    told->own_family = number_of(l->own_families, own);
}

/* Users who are kept apart share no kinds. */
static struct learned_class told_of(const struct learned *l, const struct job *job,
                                    bool service)
{
    const struct job_descriptor *d = &job->descriptor;
    uint64_t kind = hash_kind(job, service);

    if (l->options.keep_users_apart)
        kind = of_user(kind, job->owner);
    return (struct learned_class){
        .name = of_user(kind, job->owner),
        .family = d->family[0] ? of_user(hash_text(d->family, 5), job->owner) : 0,
        .kind_name = kind,
        .user = job->owner,
        .kind = -1,
        .params_millions = d->params_millions,
        .service = service,
        .twin = -1};
}

/* Forgetting takes long, and what has jobs here stays: after it there is room for some
 * more before the next time. */
static void make_room(struct learned *l)
{
    if (l->kept.count < l->class_room && l->classes->beside.count < l->cell_room)
        return;
    learned_compact(l);
    l->class_room = l->kept.count + l->kept.count / 4;
    l->cell_room = l->classes->beside.count + l->classes->beside.count / 4;
    if (l->class_room < LEARNED_CLASSES)
        l->class_room = LEARNED_CLASSES;
    if (l->cell_room < LEARNED_CELLS)
        l->cell_room = LEARNED_CELLS;
}

static int class_of(struct learned *l, const struct job *job);

/* More kinds are here than are told apart. */
#define OTHERS "\1others"
static int class_of_others(struct learned *l, const struct job *job)
{
    struct job others = {.kind = job->kind, .devices = 1, .owner = job->owner};

    str_copy(others.name, sizeof(others.name), OTHERS);
    return class_of(l, &others);
}

static int class_of(struct learned *l, const struct job *job)
{
    bool service = job->kind == JOB_INFERENCE;
    struct learned_class new = told_of(l, job, service);
    struct class_told told = {.kind = -1};
    size_t at;
    int cls;

    if (map_get(l->names, new.name, &at)) {
        l->kept.items[at].used = l->came;
        return (int)at;
    }
    make_room(l);
    if (l->kept.count >= LEARNED_CLASSES_MOST && strcmp(job->name, OTHERS))
        return class_of_others(l, job);
    new.used = l->came;
    number_family(l, job, &told);
    if (map_get(l->kind_names, new.kind_name, &at))
        told.kind = (int)at;
    cls = classes_add(l->classes, job, &told);
    new.kind = l->classes->states.items[cls].kind;
    map_put(l->kind_names, new.kind_name, (size_t) new.kind);
    if (map_get(l->names, told_of(l, job, !service).name, &at)) {
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

static void add_neighbour(struct learned_member *m, int kind, int who)
{
    int at = m->neighbours++;

    for (; at > 0 && m->others[at - 1] > kind; at--) {
        m->others[at] = m->others[at - 1];
        m->who[at] = m->who[at - 1];
    }
    m->others[at] = kind;
    m->who[at] = who;
}

/* The family number a guest would get: that of a family nobody told of yet is the next,
 * and the same for all guests of it. */
static int guest_family(const struct learned *l, const struct learned_question *asked,
                        const struct job_descriptor *d)
{
    int number = d->family[0] ? intern_find(l->families, d->family) : -1;
    int next = intern_count(l->families);

    if (number >= 0 || !d->family[0] || next >= KERNEL_FAMILIES)
        return number;
    for (int i = 0; i < asked->guests.count; i++) {
        if (strcmp(asked->guest_jobs[i]->descriptor.family, d->family) == 0)
            return asked->guests.families[i];
        next += asked->guests.families[i] >= next;
    }
    return next;
}

/* The kind of a guest, which other users may have told of. */
static int guest_kind(const struct learned *l, struct learned_question *asked,
                      uint64_t name, const struct job_trait *trait)
{
    struct class_guests *guests = &asked->guests;
    int known = (int)l->classes->kinds.count;
    size_t at;

    if (map_get(l->kind_names, name, &at))
        return (int)at;
    for (int i = 0; i < guests->count; i++)
        if (asked->guests_told[i].kind_name == name)
            return asked->guests_told[i].kind;
    guests->kinds[guests->kind_count] = *trait;
    return known + guests->kind_count++;
}

/* The class of a job that may never have begun. */
static int class_asked(const struct learned *l, const struct job *job,
                       struct learned_question *asked)
{
    struct learned_class told = told_of(l, job, job->kind == JOB_INFERENCE);
    struct class_guests *guests = &asked->guests;
    int known = (int)l->kept.count, new = guests->count;
    size_t at;

    if (map_get(l->names, told.name, &at))
        return (int)at;
    for (int i = 0; i < guests->count; i++)
        if (asked->guests_told[i].name == told.name)
            return known + i;
    guests->users[new] = job->owner;
    guests->families[new] = guest_family(l, asked, &job->descriptor);
    guests->traits[new] = job_trait_of(&job->descriptor, guests->families[new]);
    told.kind = guest_kind(l, asked, told.kind_name, &guests->traits[new]);
    asked->guest_jobs[new] = job;
    asked->guests_told[new] = told;
    return known + guests->count++;
}

/* What the job needs of memory is its own: its user's word counts for it alone, and what
 * became of jobs of the same user told alike. */
static struct footprint_item size_of(const struct job *job,
                                     const struct learned_class *told)
{
    uint64_t who = told->name;

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
    asked->guests.count = asked->guests.kind_count = asked->pair_count = 0;
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
        members[i].kind = members[i].told->kind;
        members[i].size = size_of(m->job, members[i].told);
    }
    for (int i = 0; i < where->count; i++)
        for (int k = 0; k < where->count; k++)
            if (k != i)
                add_neighbour(&members[i], members[k].kind, k);
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
    intern_destroy(l->own_families);
    map_destroy(l->names);
    map_destroy(l->kind_names);
    learned_users_fini(l);
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
    const struct classes_options how = {.memory = options->memory > 0 ? options->memory
                                                                      : LEARNED_MEMORY,
                                        .initial_only = options->initial_only,
                                        .share = !options->keep_users_apart,
                                        .networks = options->networks};

    l->options = *options;
    l->classes = classes_create(types, type_count, &how);
    l->scale = gangs_create(l->classes->types);
    l->class_room = LEARNED_CLASSES;
    l->cell_room = LEARNED_CELLS;
    l->own = job_effects_create();
    l->absorbing = prediction_cache_create(PREDICTION_CACHE_CELLS);
    l->families = intern_create();
    l->own_families = intern_create();
    l->names = map_create();
    l->kind_names = map_create();
    learned_users_init(l);
    calibration_init(&l->calibration);
    return (struct model){&learned_ops, l, NULL};
}
