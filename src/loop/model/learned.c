/* learned.c - see learned.h */
#include "loop/model/learned.h"

#include "base/intern.h"
#include "base/mem.h"
#include "loop/model/classes.h"
#include "loop/model/own.h"
#include "loop/model/pooled.h"
#include "world/power.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define Z90 1.645

/* What each doubling of devices costs, as log of efficiency; spread over nodes more. */
#define SCALE_LOG        0.07
#define SCALE_SPREAD_LOG 0.2

/* Rates alone of a class known worse than this teach nothing about pairs. */
#define ALONE_SD_MAX 0.5

/* No set of jobs slows one down below this. */
#define RELATIVE_MIN 0.02

/* Where the learning of spreads starts: noise of windows, jobs of a class alone and
 * beside others, and how much of a job's factor all types share. */
#define NOISE_SD       0.05
#define ALONE_SD       0.10
#define BESIDE_SD      0.08
#define SHARED_RHO     0.5
#define SPREAD_SAMPLES 6.0

/* Rates are taken to stand still until so much time has told otherwise. */
#define WANDER_PRIOR_S  (2 * 86400.0)
#define WANDER_MEMORY_S (60 * 86400.0)
#define WANDER_MAX      0.1

struct learned {
    struct learned_options options;
    int type_count;
    struct gpu_sheet *types; /* (type_count) */
    struct classes *classes;
    struct own_book *own;
    struct intern *families, *names;
    struct pooled noise[2]; /* alone, beside others */
    struct pooled alone, beside;
    double wander, wander_s;         /* variance beyond noise, and the time it took */
    double products, product_weight; /* of factors of one job on two types */
    struct learned_counts counts;
    size_t adapted_at;
    uint64_t stamp;
};

/* ---- jobs ------------------------------------------------------------------------- */

static int class_named(struct learned *l, const struct job *job)
{
    const struct job_descriptor *d = &job->descriptor;
    int known = intern_count(l->names), cls;
    char key[256];

    if (d->family[0])
        snprintf(key, sizeof(key), "%s/%d/%d/%.4g/%.4g/%.4g/%d/%d", d->family,
                 (int)d->model, d->batch, d->gmac_per_sample, d->params_millions,
                 d->memory_mb_per_sample, job->devices, (int)job->kind);
    else
        snprintf(key, sizeof(key), "%s/%llu", job->name, (unsigned long long)job->id);
    cls = intern_id(l->names, key);
    if (cls == known)
        classes_add(l->classes, job,
                    d->family[0] ? intern_id(l->families, d->family) : -1);
    return cls;
}

static void learned_begin(void *self, const struct job *job)
{
    struct learned *l = self;
    int cls;

    if (own_find(l->own, job->id))
        return;
    cls = class_named(l, job);
    own_begin(l->own, job->id, cls);
    classes_arrive(l->classes, cls, 1);
}

/* What the class has learned stays: the next job of its kind starts from it. */
static void learned_end(void *self, const struct job *job)
{
    struct learned *l = self;
    const struct own *own = own_find(l->own, job->id);

    if (!own)
        return;
    classes_arrive(l->classes, own->cls, -1);
    own_end(l->own, job->id);
}

static void find_members(struct learned *l, const struct combination *where, int *classes)
{
    for (int i = 0; i < where->count; i++)
        learned_begin(l, where->members[i].job);
    for (int i = 0; i < where->count; i++)
        classes[i] = own_find(l->own, where->members[i].job->id)->cls;
}

/* ln of what a job gains from its devices over one of them. */
static double scale_log(const struct member *m)
{
    double n = m->job->devices > 1 ? m->job->devices : 1;
    double cost = m->nodes > 1 ? SCALE_SPREAD_LOG : SCALE_LOG;

    return n > 1 ? log(n) - cost * log2(n) : 0;
}

/* ---- what sets a job apart --------------------------------------------------------- */

static struct own_noise noise_of(const struct learned *l, bool shared)
{
    return (struct own_noise){pooled_var(&l->noise[shared]),
                              fmax(l->wander / (l->wander_s + WANDER_PRIOR_S), 0)};
}

static double rho(const struct learned *l)
{
    double spread = pooled_var(&l->alone);
    double shared = (SPREAD_SAMPLES * SHARED_RHO * spread + l->products) /
                    ((SPREAD_SAMPLES + l->product_weight) * spread);

    return fmin(fmax(shared, 0), 0.95);
}

/* The classes beside member `at`. */
static int others_of(const int *classes, int count, int at, int *others)
{
    int n = 0;

    for (int i = 0; i < count; i++)
        if (i != at)
            others[n++] = classes[i];
    return n;
}

/* Log relative speed of a class beside some others: log slow-downs add up. */
static struct class_guess beside_all(struct learned *l, int cls, int type,
                                     const int *others, int count)
{
    struct class_guess sum = {.measured = count == 1};

    for (int i = 0; i < count; i++) {
        struct class_guess g = classes_beside(l->classes, cls, type, others[i]);

        sum.mean += g.mean;
        sum.var += g.var;
        sum.measured = sum.measured && g.measured;
        sum.observations += g.observations;
    }
    sum.mean = fmax(sum.mean, log(RELATIVE_MIN));
    return sum;
}

/* What one place says of the job's factor alone on its type. */
static void add_evidence(struct learned *l, const struct own *own,
                         const struct own_place *place, struct own_evidence *evidence)
{
    double noise = pooled_var(&l->noise[place->neighbours > 0]);
    double var = noise / fmax(place->drift.times, 1);
    double off =
        place->drift.mean - classes_alone(l->classes, own->cls, place->type).mean;

    if (place->neighbours > 0) {
        struct class_guess g =
            beside_all(l, own->cls, place->type, place->others, place->neighbours);

        off -= g.mean;
        var += g.var + place->neighbours * pooled_var(&l->beside);
    }
    evidence[place->type].precision += 1 / var;
    evidence[place->type].weighted += off / var;
}

static struct own_factor factor_of(struct learned *l, struct own *own, int type)
{
    struct own_factor *kept = &own->factors[type];
    uint64_t version = own->version + classes_version(l->classes, own->cls);
    struct own_evidence evidence[64] = {{0}};

    if (own->count == 0)
        return (struct own_factor){.var = pooled_var(&l->alone)};
    if (kept->version == version)
        return *kept;
    for (int i = 0; i < own->count; i++)
        add_evidence(l, own, &own->places[i], evidence);
    *kept = own_combine(evidence, l->type_count, type, pooled_var(&l->alone), rho(l));
    kept->version = own->version + classes_version(l->classes, own->cls);
    return *kept;
}

/* ---- predictions ------------------------------------------------------------------ */

struct belief { /* of a log rate, without cap and scale */
    double mean, var, relative;
    bool measured;
    int observations;
};

static struct belief believe(struct learned *l, const struct combination *where,
                             const int *classes, int at)
{
    struct own *own = own_find(l->own, where->members[at].job->id);
    int others[LOOP_MAX_SHARE], n = others_of(classes, where->count, at, others);
    const struct own_place *place =
        own->count == 0 ? NULL
                        : own_place(own, own_key(where->type, others, n,
                                                 where->members[at].nodes > 1));
    struct class_guess alone = classes_alone(l->classes, own->cls, where->type);
    struct own_noise noise = noise_of(l, n > 0);
    struct class_guess beside = {0};
    struct own_factor factor;

    if (n > 0)
        beside = beside_all(l, own->cls, where->type, others, n);
    if (place)
        return (struct belief){
            .mean = place->drift.mean,
            .var = own_window_var(place, &noise),
            .relative = beside.mean,
            .measured = true,
            .observations = (int)place->drift.times,
        };
    factor = factor_of(l, own, where->type);
    return (struct belief){
        .mean = alone.mean + factor.mean + beside.mean,
        .var = alone.var + factor.var + pooled_var(&l->noise[n > 0]) +
               (n > 0 ? beside.var + n * pooled_var(&l->beside) : 0),
        .relative = beside.mean,
        .observations = alone.observations + beside.observations,
    };
}

static struct estimate estimate_of(const struct belief *b, double shift, size_t total)
{
    double value = exp(b->mean + shift), factor = exp(Z90 * sqrt(b->var));

    return (struct estimate){
        .value = value,
        .low = value / factor,
        .high = value * factor,
        .source = b->measured ? ESTIMATE_MEASURED
                  : total > 0 ? ESTIMATE_CORRELATED
                              : ESTIMATE_INITIAL,
        .observations = b->observations,
    };
}

static void predict_watts(struct learned *l, const int *classes, const double *relative,
                          const struct combination *where, struct estimate *out,
                          double *speed)
{
    const struct gpu_sheet *sheet = &l->types[where->type];
    double busy = 0, var = 0, factor;
    struct power_capped capped;
    int seen = 0;
    bool measured = where->count == 1;

    for (int i = 0; i < where->count; i++) {
        struct watts_guess g = classes_watts(l->classes, classes[i], where->type);

        busy += power_busy(sheet, g.watts) * exp(relative[i]);
        var += g.sd_log * g.sd_log / where->count;
        seen += g.observations;
        measured = measured && g.sd_log < 0.1;
    }
    capped = power_under_cap(sheet, fmin(busy, 1), where->cap_watts);
    *speed = log(capped.speed);
    factor = exp(Z90 * sqrt(var));
    *out = (struct estimate){
        .value = capped.watts,
        .low = fmax(capped.watts / factor, sheet->idle_watts),
        .high = fmax(fmin(capped.watts * factor, sheet->tdp_watts), capped.watts),
        .source = measured   ? ESTIMATE_MEASURED
                  : seen > 0 ? ESTIMATE_CORRELATED
                             : ESTIMATE_INITIAL,
        .observations = seen,
    };
    out->low = fmin(out->low, out->value);
}

static void learned_predict(void *self, const struct combination *where,
                            struct prediction *out)
{
    struct learned *l = self;
    size_t total = l->counts.rates + l->counts.pairs;
    struct belief beliefs[LOOP_MAX_SHARE];
    double relative[LOOP_MAX_SHARE], speed;
    int classes[LOOP_MAX_SHARE];

    assert(where->count >= 1 && where->count <= LOOP_MAX_SHARE);
    find_members(l, where, classes);
    for (int i = 0; i < where->count; i++) {
        beliefs[i] = believe(l, where, classes, i);
        relative[i] = beliefs[i].relative;
    }
    predict_watts(l, classes, relative, where, &out->watts, &speed);
    for (int i = 0; i < where->count; i++)
        out->rate[i] =
            estimate_of(&beliefs[i], speed + scale_log(&where->members[i]), total);
    out->fits = classes_fit(l->classes, where->type, classes, where->count);
}

/* ---- measurements ----------------------------------------------------------------- */

/* The window against what the place's last ones said: how noisy are windows, and how
 * fast do rates wander? */
static bool push_window(struct learned *l, struct own_place *place, double value,
                        double at_s)
{
    struct own_noise noise = noise_of(l, place->neighbours > 0);
    double surprise, wander, keep;
    bool changed = own_push(place, value, at_s, &noise, &surprise, &wander);

    place->stamp = ++l->stamp;
    if (isnan(surprise))
        return changed;
    pooled_add(&l->noise[place->neighbours > 0], surprise);
    keep = l->wander_s > WANDER_MEMORY_S ? 1 - place->gap_s / WANDER_MEMORY_S : 1;
    l->wander = fmax(keep, 0) * l->wander + fmin(wander, WANDER_MAX);
    l->wander_s = fmax(keep, 0) * l->wander_s + place->gap_s;
    return changed;
}

/* A job's first word on a cell others of its class spoke of: how far do they differ? */
static void learn_spread_alone(struct learned *l, const struct own *own,
                               const struct own_place *place, double value)
{
    struct class_guess cls = classes_alone(l->classes, own->cls, place->type);
    double off = value - cls.mean, n = cls.observations;

    if (!cls.measured)
        return;
    pooled_add(&l->alone, fmax(off * off * n / (n + 1) - pooled_var(&l->noise[0]), 0));
    for (int i = 0; i < own->count; i++) {
        const struct own_place *p = &own->places[i];
        struct class_guess there = classes_alone(l->classes, own->cls, p->type);

        if (p->neighbours > 0 || p->type == place->type || !there.measured ||
            there.observations < 2)
            continue;
        l->products += off * (p->drift.mean - there.mean);
        l->product_weight++;
    }
}

static void tell_alone(struct learned *l, struct own *own, struct own_place *place,
                       bool changed)
{
    struct class_news news = {place->told, place->drift.mean, pooled_var(&l->alone),
                              changed};

    if (isnan(place->told))
        learn_spread_alone(l, own, place, place->drift.mean);
    classes_tell_alone(l->classes, own->cls, place->type, &news, false);
    place->told = place->drift.mean;
}

/* The job's rate alone on a type from what was measured alone, not beside others. */
static struct belief alone_for_pairs(struct learned *l, struct own *own, int type)
{
    const struct own_place *place = own_place(own, own_key(type, NULL, 0, false));
    struct class_guess cls = classes_alone(l->classes, own->cls, type);
    struct own_noise noise = noise_of(l, false);

    if (place)
        return (struct belief){.mean = place->drift.mean,
                               .var = own_window_var(place, &noise),
                               .measured = true};
    return (struct belief){.mean = cls.mean,
                           .var = cls.var + pooled_var(&l->alone),
                           .measured = cls.measured};
}

static void tell_beside(struct learned *l, struct own *own, struct own_place *place,
                        bool changed)
{
    int other = place->others[0];
    struct belief alone = alone_for_pairs(l, own, place->type);
    struct class_guess cls = classes_beside(l->classes, own->cls, place->type, other);
    struct class_news news = {.before = place->told, .changed = changed};

    if (alone.var > ALONE_SD_MAX * ALONE_SD_MAX) {
        news.now = place->drift.mean - cls.mean;
        news.var = pooled_var(&l->alone) + cls.var;
        classes_tell_alone(l->classes, own->cls, place->type, &news, true);
        return;
    }
    news.now = place->drift.mean - alone.mean;
    news.var = alone.var + pooled_var(&l->beside);
    if (isnan(place->told) && cls.measured && alone.var < 2 * pooled_var(&l->noise[0])) {
        double off = news.now - cls.mean;

        pooled_add(&l->beside, fmax(off * off / 2 - alone.var, 0));
    }
    classes_tell_beside(l->classes, own->cls, place->type, other, &news);
    place->told = news.now;
}

static void absorb_rate(struct learned *l, const struct observation *seen,
                        const int *classes)
{
    const struct combination *where = &seen->where;
    const struct member *m = &where->members[seen->subject];
    struct own *own = own_find(l->own, m->job->id);
    double relative[LOOP_MAX_SHARE] = {0}, speed, value;
    int others[LOOP_MAX_SHARE];
    int n = others_of(classes, where->count, seen->subject, others);
    struct own_place *place;
    struct estimate watts;
    bool changed;

    if (!(seen->rate > 0) || !isfinite(seen->rate))
        return;
    predict_watts(l, classes, relative, where, &watts, &speed);
    value = log(seen->rate) - speed - scale_log(m);
    place = own_place_take(own, own_key(where->type, others, n, m->nodes > 1));
    place->type = where->type;
    place->neighbours = n;
    for (int i = 0; i < n; i++)
        place->others[i] = others[i];
    changed = push_window(l, place, value, seen->at_s);
    l->counts.changes += changed;
    own->version++;
    if (n == 0) {
        l->counts.rates++;
        tell_alone(l, own, place, changed);
    } else if (n == 1) {
        l->counts.pairs++;
        tell_beside(l, own, place, changed);
    }
}

static void learned_absorb(void *self, const struct observation *seen)
{
    struct learned *l = self;
    const struct combination *where = &seen->where;
    int classes[LOOP_MAX_SHARE];
    size_t cells;

    find_members(l, where, classes);
    classes_tell_memory(l->classes, where->type, classes, where->count,
                        seen->out_of_memory);
    if (seen->out_of_memory) {
        l->counts.failures++;
        return;
    }
    if (where->count == 1 && where->cap_watts <= 0 && seen->device_watts > 0)
        classes_tell_watts(l->classes, classes[0], where->type, seen->device_watts);
    absorb_rate(l, seen, classes);
    cells = classes_pairs(l->classes);
    if (l->options.adapt_every > 0 &&
        cells >= l->adapted_at + (size_t)l->options.adapt_every &&
        cells >= 2 * l->adapted_at)
        learned_adapt(l);
}

void learned_adapt(void *self)
{
    struct learned *l = self;

    classes_adapt(l->classes);
    l->adapted_at = classes_pairs(l->classes);
}

struct learned_counts learned_count(const void *self)
{
    const struct learned *l = self;

    return l->counts;
}

static void learned_destroy(void *self)
{
    struct learned *l = self;

    if (!l)
        return;
    free(l->types);
    classes_destroy(l->classes);
    own_book_destroy(l->own);
    intern_destroy(l->families);
    intern_destroy(l->names);
    free(l);
}

static const struct model_ops learned_ops = {
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
    l->type_count = type_count;
    l->types = mem_dup(types, (size_t)type_count, sizeof(*types));
    l->classes = classes_create(types, type_count, options->seed,
                                options->memory > 0 ? options->memory : LEARNED_MEMORY);
    l->own = own_book_create(type_count);
    l->families = intern_create();
    l->names = intern_create();
    l->noise[0] = pooled_start(NOISE_SD * NOISE_SD, SPREAD_SAMPLES);
    l->noise[1] = pooled_start(NOISE_SD * NOISE_SD, SPREAD_SAMPLES);
    l->alone = pooled_start(ALONE_SD * ALONE_SD, SPREAD_SAMPLES);
    l->beside = pooled_start(BESIDE_SD * BESIDE_SD, SPREAD_SAMPLES);
    return (struct model){&learned_ops, l};
}
