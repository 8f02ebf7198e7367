/* learned.c - see learned.h */
#include "loop/model/learned.h"

#include "base/intern.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/vec.h"
#include "loop/estimate/footprint.h"
#include "loop/estimate/rates.h"
#include "loop/core/traits.h"
#include "loop/estimate/watts.h"
#include "loop/refine/drift.h"
#include "loop/refine/pairs.h"
#include "world/power.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

#define Z90 1.645

/* What each doubling of devices costs, as log of efficiency; spread over nodes more. */
#define SCALE_LOG        0.07
#define SCALE_SPREAD_LOG 0.2

/* Rates alone known worse than this teach nothing about pairs. */
#define ALONE_SD_MAX 0.5

/* No set of jobs slows one down below this. */
#define RELATIVE_MIN 0.02

/* sd of RATES_* bases as calibrated on synthetic worlds: the models' own are narrow. */
static const double basis_factor[RATES_BASIS_COUNT] = {1, 1.25, 1.25, 1.5, 1};

struct alone { /* measurements of a class alone on a type */
    struct drift drift;
    bool inferred; /* from a run beside others: gives way to a real one */
};

struct learned {
    struct learned_options options;
    int type_count;
    struct gpu_sheet *types; /* (type_count) */
    struct rates *rates;
    struct pairs *pairs;
    struct footprint *footprint;
    struct watts *watts;
    struct intern *families, *classes;
    struct map *class_of;       /* job id -> class */
    vec_of(struct alone) alone; /* (classes, type_count) */
    struct learned_counts counts;
    size_t adapted_at;
};

/* ---- jobs ------------------------------------------------------------------------- */

static void add_class(struct learned *l, const struct job *job)
{
    const struct job_descriptor *d = &job->descriptor;
    int family = d->family[0] ? intern_id(l->families, d->family) : -1;
    struct job_trait trait = traits_of_job(d, family);

    rates_add_job(l->rates, &trait);
    pairs_add_job(l->pairs, &trait);
    footprint_add(l->footprint, d, job->memory_gb);
    watts_add_job(l->watts, 0);
    for (int t = 0; t < l->type_count; t++)
        vec_push(&l->alone, (struct alone){0});
}

static void learned_begin(void *self, const struct job *job)
{
    struct learned *l = self;
    const struct job_descriptor *d = &job->descriptor;
    int known = intern_count(l->classes), cls;
    char key[256];

    if (d->family[0])
        snprintf(key, sizeof(key), "%s/%d/%d/%.4g/%.4g/%.4g/%d/%d", d->family,
                 (int)d->model, d->batch, d->gmac_per_sample, d->params_millions,
                 d->memory_mb_per_sample, job->devices, (int)job->kind);
    else
        snprintf(key, sizeof(key), "%s/%llu", job->name, (unsigned long long)job->id);
    cls = intern_id(l->classes, key);
    if (cls == known)
        add_class(l, job);
    map_put(l->class_of, job->id, (size_t)cls);
}

/* What the class has learned stays: the next job of its kind starts from it. */
static void learned_end(void *self, const struct job *job)
{
    struct learned *l = self;

    map_remove(l->class_of, job->id);
}

static int class_of(struct learned *l, const struct job *job)
{
    size_t cls;

    if (!map_get(l->class_of, job->id, &cls)) {
        learned_begin(l, job);
        map_get(l->class_of, job->id, &cls);
    }
    return (int)cls;
}

/* ln of what a job gains from its devices over one of them. */
static double scale_log(const struct member *m)
{
    double n = m->job->devices > 1 ? m->job->devices : 1;
    double cost = m->nodes > 1 ? SCALE_SPREAD_LOG : SCALE_LOG;

    return log(n) - cost * log2(n);
}

/* ---- predictions ------------------------------------------------------------------ */

struct belief { /* of a log rate */
    double mean, var;
    bool measured;
    int observations;
};

static struct belief believe_alone(struct learned *l, int cls, int type)
{
    struct rates_guess g = rates_predict(l->rates, cls, type);
    double sd = g.sd * basis_factor[g.basis];
    const struct alone *a = &l->alone.items[cls * l->type_count + type];
    bool inferred = g.basis == RATES_MEASURED && a->inferred;

    if (inferred)
        sd = ALONE_SD_MAX / 2;
    return (struct belief){g.mean, sd * sd, g.basis == RATES_MEASURED && !inferred,
                           g.observations};
}

/* Add what the other members do to it: log slow-downs add up. */
static void add_neighbours(struct learned *l, const int *classes, int count, int at,
                           int type, struct belief *b, double *relative)
{
    struct cell cells[LOOP_MAX_SHARE];
    struct pairs_guess guesses[LOOP_MAX_SHARE];
    size_t n = 0;

    *relative = 0;
    for (int i = 0; i < count; i++)
        if (i != at)
            cells[n++] = (struct cell){classes[at], type, classes[i]};
    if (n == 0)
        return;
    pairs_predict(l->pairs, cells, n, guesses);
    for (size_t i = 0; i < n; i++) {
        *relative += guesses[i].mean;
        b->var += guesses[i].sd * guesses[i].sd;
        b->measured = b->measured && guesses[i].times > 0 && n == 1;
        b->observations += guesses[i].times;
    }
    *relative = fmax(*relative, log(RELATIVE_MIN));
    b->mean += *relative;
}

static struct estimate estimate_of(const struct belief *b, double shift, size_t total)
{
    double sd = sqrt(b->var);

    return (struct estimate){
        .value = exp(b->mean + shift),
        .low = exp(b->mean + shift - Z90 * sd),
        .high = exp(b->mean + shift + Z90 * sd),
        .source = b->measured ? ESTIMATE_MEASURED
                  : total > 0 ? ESTIMATE_CORRELATED
                              : ESTIMATE_INITIAL,
        .observations = b->observations,
    };
}

/* Share of a card a class keeps busy when alone. */
static double busy_of(const struct learned *l, int cls, int type, struct watts_guess *g)
{
    *g = watts_predict(l->watts, cls, type);
    return power_busy(&l->types[type], g->watts);
}

static void predict_watts(const struct learned *l, const int *classes,
                          const double *relative, const struct combination *where,
                          struct estimate *out, double *speed)
{
    const struct gpu_sheet *sheet = &l->types[where->type];
    double busy = 0, var = 0;
    struct power_capped capped;
    int seen = 0;
    bool measured = where->count == 1;

    for (int i = 0; i < where->count; i++) {
        struct watts_guess g;

        busy += busy_of(l, classes[i], where->type, &g) * exp(relative[i]);
        var += g.sd_log * g.sd_log / where->count;
        seen += g.observations;
        measured = measured && g.sd_log < 0.1;
    }
    capped = power_under_cap(sheet, fmin(busy, 1), where->cap_watts);
    *speed = log(capped.speed);
    *out = (struct estimate){
        .value = capped.watts,
        .low = fmax(capped.watts * exp(-Z90 * sqrt(var)), sheet->idle_watts),
        .high = fmax(fmin(capped.watts * exp(Z90 * sqrt(var)), sheet->tdp_watts),
                     capped.watts),
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
    *out = (struct prediction){.fits = 1};
    for (int i = 0; i < where->count; i++)
        classes[i] = class_of(l, where->members[i].job);
    for (int i = 0; i < where->count; i++) {
        beliefs[i] = believe_alone(l, classes[i], where->type);
        add_neighbours(l, classes, where->count, i, where->type, &beliefs[i],
                       &relative[i]);
    }
    predict_watts(l, classes, relative, where, &out->watts, &speed);
    for (int i = 0; i < where->count; i++)
        out->rate[i] =
            estimate_of(&beliefs[i], speed + scale_log(&where->members[i]), total);
    out->fits = footprint_fits(l->footprint, where->type, l->types[where->type].memory_gb,
                               classes, (size_t)where->count);
}

/* ---- measurements ----------------------------------------------------------------- */

static void absorb_alone(struct learned *l, int cls, int type, double value,
                         bool inferred)
{
    struct alone *a = &l->alone.items[cls * l->type_count + type];

    if (inferred && a->drift.times > 0 && !a->inferred)
        return;
    if (!inferred && a->inferred)
        a->drift = (struct drift){0};
    a->inferred = inferred;
    l->counts.changes += drift_push(&a->drift, value);
    l->counts.rates++;
    rates_observe(l->rates, cls, type, a->drift.mean);
}

static void absorb_pair(struct learned *l, const int *classes, int subject, int type,
                        double value)
{
    int cls = classes[subject], other = classes[!subject];
    struct belief alone = believe_alone(l, cls, type);
    struct cell cell = {cls, type, other};

    if (alone.var > ALONE_SD_MAX * ALONE_SD_MAX) {
        struct pairs_guess g;

        pairs_predict(l->pairs, &cell, 1, &g);
        absorb_alone(l, cls, type, value - g.mean, true);
        return;
    }
    l->counts.changes += pairs_observe(
        l->pairs, cell, fmin(fmax(value - alone.mean, log(RELATIVE_MIN)), 0),
        alone.measured ? 0 : alone.var);
    l->counts.pairs++;
}

static void absorb_rate(struct learned *l, const struct observation *seen,
                        const int *classes)
{
    const struct combination *where = &seen->where;
    double relative[LOOP_MAX_SHARE] = {0}, speed, value;
    struct estimate watts;

    if (!(seen->rate > 0) || !isfinite(seen->rate))
        return;
    predict_watts(l, classes, relative, where, &watts, &speed);
    value = log(seen->rate) - speed - scale_log(&where->members[seen->subject]);
    if (where->count == 1)
        absorb_alone(l, classes[0], where->type, value, false);
    else if (where->count == 2)
        absorb_pair(l, classes, seen->subject, where->type, value);
}

static void learned_absorb(void *self, const struct observation *seen)
{
    struct learned *l = self;
    const struct combination *where = &seen->where;
    double memory_gb = l->types[where->type].memory_gb;
    int classes[LOOP_MAX_SHARE];

    for (int i = 0; i < where->count; i++)
        classes[i] = class_of(l, where->members[i].job);
    if (seen->out_of_memory) {
        footprint_failed(l->footprint, where->type, memory_gb, classes,
                         (size_t)where->count);
        l->counts.failures++;
        return;
    }
    footprint_ran(l->footprint, memory_gb, classes, (size_t)where->count);
    if (where->count == 1 && where->cap_watts <= 0 && seen->device_watts > 0)
        watts_observe(l->watts, classes[0], where->type, seen->device_watts);
    absorb_rate(l, seen, classes);
    if (l->options.adapt_every > 0 &&
        pairs_count(l->pairs) >= l->adapted_at + (size_t)l->options.adapt_every)
        learned_adapt(l);
}

void learned_adapt(void *self)
{
    struct learned *l = self;

    pairs_adapt(l->pairs, l->options.seed);
    l->adapted_at = pairs_count(l->pairs);
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
    rates_destroy(l->rates);
    pairs_destroy(l->pairs);
    footprint_destroy(l->footprint);
    watts_destroy(l->watts);
    intern_destroy(l->families);
    intern_destroy(l->classes);
    map_destroy(l->class_of);
    vec_free(&l->alone);
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
    struct kernel_params params;

    kernel_default(&params);
    l->options = *options;
    l->type_count = type_count;
    l->types = mem_dup(types, (size_t)type_count, sizeof(*types));
    l->rates = rates_create(&params);
    l->pairs = pairs_create();
    l->footprint = footprint_create();
    l->watts = watts_create();
    l->families = intern_create();
    l->classes = intern_create();
    l->class_of = map_create();
    for (int t = 0; t < type_count; t++) {
        struct gpu_trait trait = traits_of_gpu(&types[t]);

        rates_add_gpu(l->rates, &trait);
        pairs_add_gpu(l->pairs, &trait);
        watts_add_gpu(l->watts, &types[t]);
    }
    return (struct model){&learned_ops, l};
}
