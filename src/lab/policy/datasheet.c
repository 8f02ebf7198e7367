/* datasheet.c - see datasheet.h: priors are estimate/prior.h's, corrections
 * model/running.h's */
#include "lab/policy/datasheet.h"

#include "base/map.h"
#include "base/normal.h"
#include "base/rng.h"
#include "base/vec.h"
#include "loop/estimate/predict.h"
#include "model/queueing.h"
#include "lab/policy/prior.h"
#include "model/running.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What a job is called in the books, worked out once when it begins. */
struct kin {
    uint64_t family;
    uint64_t class; /* family, batch and number of devices */
};

struct datasheet {
    struct prior prior;
    struct mean_book *alone; /* residuals of the log rate alone */
    struct mean_book *relative;
    struct mean_book *watts;
    struct map *out_of_memory; /* combinations that failed on a type */
    struct map *kin_index;     /* job -> kin */
    vec_of(struct kin) kin;
    vec_of(size_t) kin_free; /* places in kin left by jobs that ended */
};

/* Which residual book a key belongs to is the book itself; these tell levels apart in it.
 */
enum level_tag {
    LEVEL_ALL = 1,
    LEVEL_TYPE,
    LEVEL_FAMILY,
    LEVEL_CLASS,
    LEVEL_CLASS_TYPE,
    LEVEL_JOB,
    LEVEL_JOB_TYPE,
    LEVEL_VICTIM,
    LEVEL_PRESSER,
    LEVEL_PAIR
};

static uint64_t key(enum level_tag tag, uint64_t a, uint64_t b, uint64_t c)
{
    return rng_mix(rng_mix(rng_mix((uint64_t)tag, a), b), c);
}

static struct kin kin_make(const struct job *job)
{
    uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a */
    struct kin kin;

    for (const char *c = job->descriptor.family; *c; c++)
        hash = (hash ^ (unsigned char)*c) * 0x100000001b3u;
    if (!job->descriptor.family[0])
        hash = rng_mix(hash, job->id); /* unknown: nobody's kin */
    kin.family = rng_mix(hash, (uint64_t)job->kind);
    kin.class = rng_mix(rng_mix(kin.family, (uint64_t)job->descriptor.batch),
                        (uint64_t)job->devices);
    return kin;
}

static struct kin kin_of(const struct datasheet *m, const struct job *job)
{
    size_t at;

    return map_get(m->kin_index, job->id, &at) ? m->kin.items[at] : kin_make(job);
}

static int alone_keys(const struct datasheet *m, const struct job *job, int type,
                      uint64_t *keys)
{
    struct kin kin = kin_of(m, job);
    uint64_t t = (uint64_t)type;

    keys[0] = key(LEVEL_ALL, 0, 0, 0);
    keys[1] = key(LEVEL_TYPE, t, 0, 0);
    keys[2] = key(LEVEL_FAMILY, kin.family, 0, 0);
    keys[3] = key(LEVEL_CLASS, kin.class, 0, 0);
    keys[4] = key(LEVEL_CLASS_TYPE, kin.class, t, 0);
    keys[5] = key(LEVEL_JOB, job->id, 0, 0);
    keys[6] = key(LEVEL_JOB_TYPE, job->id, t, 0);
    return 7;
}

static const double alone_sd[] = {1.2, 1.0, 0.9, 0.5, 0.35, 0.15, 0.2, 0.03};

static struct estimate rate_alone(const struct datasheet *m, const struct job *job,
                                  int type)
{
    uint64_t keys[MEAN_MAX_LEVELS];
    int count = alone_keys(m, job, type, keys);
    struct mean_answer a = mean_book_ask(m->alone, keys, count, alone_sd);
    enum estimate_source source = a.deepest == count - 1 ? ESTIMATE_MEASURED
                                  : a.deepest >= 0       ? ESTIMATE_CORRELATED
                                                         : ESTIMATE_INITIAL;

    return estimate_from_log(prior_log_rate(&m->prior, job, type) + a.mean, a.sd, source,
                             a.observations);
}

static int relative_keys(const struct datasheet *m, const struct job *job,
                         const struct job *other, int type, uint64_t *keys)
{
    uint64_t mine = kin_of(m, job).class, theirs = kin_of(m, other).class;
    uint64_t t = (uint64_t)type;

    keys[0] = key(LEVEL_ALL, 0, 0, 0);
    keys[1] = key(LEVEL_TYPE, t, 0, 0);
    keys[2] = key(LEVEL_PRESSER, theirs, 0, 0);
    keys[3] = key(LEVEL_VICTIM, mine, t, 0);
    keys[4] = key(LEVEL_PAIR, mine, theirs, t);
    keys[5] = key(LEVEL_JOB_TYPE, job->id, other->id, t);
    return 6;
}

static const double relative_sd[] = {0.35, 0.3, 0.28, 0.22, 0.15, 0.08, 0.03};

/* Relative speeds multiply when more than one other job is there. */
static double log_relative(const struct datasheet *m, const struct combination *where,
                           int i, double *variance, bool *measured)
{
    double sum = 0;

    for (int k = 0; k < where->count; k++) {
        uint64_t keys[MEAN_MAX_LEVELS];
        struct mean_answer a;
        int count;

        if (k == i)
            continue;
        count = relative_keys(m, where->members[i].job, where->members[k].job,
                              where->type, keys);
        a = mean_book_ask(m->relative, keys, count, relative_sd);
        sum += fmin(0, prior_log_relative() + a.mean);
        *variance += a.sd * a.sd;
        *measured = *measured && a.deepest == count - 1;
    }
    return sum;
}

static void predict_rate(const struct datasheet *m, const struct combination *where,
                         int i, double cap_speed, struct estimate *out)
{
    const struct job *job = where->members[i].job;
    struct estimate alone = rate_alone(m, job, where->type);
    double sd = log(alone.high / alone.low) / (2 * NORMAL_90);
    double variance = sd * sd;
    bool measured = alone.source == ESTIMATE_MEASURED;
    double log_rate = log(alone.value) + log_relative(m, where, i, &variance, &measured) +
                      log(cap_speed);

    *out = estimate_from_log(log_rate, sqrt(variance), alone.source, alone.observations);
    if (where->count > 1 && out->source == ESTIMATE_MEASURED && !measured)
        out->source = ESTIMATE_CORRELATED;
}

static int watts_keys(const struct datasheet *m, const struct combination *where,
                      uint64_t *keys)
{
    uint64_t together = 0;

    for (int i = 0; i < where->count; i++)
        together += rng_mix(kin_of(m, where->members[i].job).class,
                            7); /* order does not matter */
    keys[0] = key(LEVEL_TYPE, (uint64_t)where->type, (uint64_t)where->count, 0);
    keys[1] = key(LEVEL_PAIR, together, (uint64_t)where->type, 0);
    return 2;
}

static uint64_t combination_key(const struct datasheet *m,
                                const struct combination *where)
{
    uint64_t keys[MEAN_MAX_LEVELS];

    return watts_keys(m, where, keys) ? keys[1] : 0;
}

static double predict_fits(const struct datasheet *m, const struct combination *where)
{
    size_t failures;

    if (map_get(m->out_of_memory, combination_key(m, where), &failures))
        return 0;
    return prior_fits(&m->prior, where);
}

static void datasheet_predict(const void *self, struct prediction_cache *cache,
                              const struct combination *where, struct prediction *out)
{
    static const double watts_sd[] = {0.4, 0.3, 0.08};
    const struct datasheet *m = self;
    uint64_t keys[MEAN_MAX_LEVELS];
    int count = watts_keys(m, where, keys);
    struct mean_answer watts = mean_book_ask(m->watts, keys, count, watts_sd);
    double cap_speed = prior_cap_speed(&m->prior, where);

    (void)cache;
    for (int i = 0; i < where->count; i++) {
        predict_rate(m, where, i, cap_speed, &out->rate[i]);
        queueing_useful_estimate(where->members[i].job, &out->rate[i]);
    }
    out->watts =
        estimate_from_log(log(prior_watts(&m->prior, where)) + watts.mean, watts.sd,
                          watts.deepest < 0    ? ESTIMATE_INITIAL
                          : watts.deepest == 1 ? ESTIMATE_MEASURED
                                               : ESTIMATE_CORRELATED,
                          watts.observations);
    out->fits = predict_fits(m, where);
}

/* A rate beside others tells of the rate alone and of the relative speed.  What is surer
 * stays, what is vaguer takes the blame, each by its variance. */
static void absorb_rate(struct datasheet *m, const struct observation *seen)
{
    const struct job *job = seen->where.members[seen->subject].job;
    struct estimate alone = rate_alone(m, job, seen->where.type);
    double alone_sd_now = log(alone.high / alone.low) / (2 * NORMAL_90);
    double variance = 0, share = 1;
    bool measured = true;
    double relative = log_relative(m, &seen->where, seen->subject, &variance, &measured);
    double surprise = log(seen->rate / prior_cap_speed(&m->prior, &seen->where)) -
                      log(alone.value) - relative;
    double weight = prior_weight(seen, surprise);
    uint64_t keys[MEAN_MAX_LEVELS];
    int count = alone_keys(m, job, seen->where.type, keys);

    if (!(weight > 0))
        return;
    if (seen->where.count > 1)
        share = alone_sd_now * alone_sd_now / (alone_sd_now * alone_sd_now + variance);
    mean_book_add(m->alone, keys, count,
                  log(alone.value) + share * surprise -
                      prior_log_rate(&m->prior, job, seen->where.type),
                  seen->where.count > 1 ? 0.5 * weight : weight);
    for (int k = 0; k < seen->where.count && seen->where.count > 1; k++) {
        if (k == seen->subject)
            continue;
        count = relative_keys(m, job, seen->where.members[k].job, seen->where.type, keys);
        mean_book_add(m->relative, keys, count,
                      (relative + (1 - share) * surprise) / (seen->where.count - 1) -
                          prior_log_relative(),
                      weight);
    }
}

static void datasheet_absorb(void *self, const struct observation *seen)
{
    struct datasheet *m = self;
    uint64_t keys[MEAN_MAX_LEVELS];

    if (seen->out_of_memory) {
        map_put(m->out_of_memory, combination_key(m, &seen->where), 1);
        return;
    }
    if (seen->rate > 0)
        absorb_rate(m, seen);
    if (isfinite(seen->device_watts) && seen->device_watts > 0) {
        int count = watts_keys(m, &seen->where, keys);

        mean_book_add(m->watts, keys, count,
                      log(seen->device_watts / prior_watts(&m->prior, &seen->where)), 1);
    }
}

static void datasheet_begin(void *self, const struct job *job)
{
    struct datasheet *m = self;
    size_t at = m->kin.count;

    if (m->kin_free.count > 0)
        at = m->kin_free.items[--m->kin_free.count];
    else
        vec_push(&m->kin, (struct kin){0});
    m->kin.items[at] = kin_make(job);
    map_put(m->kin_index, job->id, at);
}

static void datasheet_end(void *self, const struct job *job)
{
    struct datasheet *m = self;
    size_t at;

    if (!map_get(m->kin_index, job->id, &at))
        return;
    map_remove(m->kin_index, job->id); /* what was learned of its like stays */
    vec_push(&m->kin_free, at);
}

static void datasheet_destroy(void *self)
{
    struct datasheet *m = self;

    mean_book_destroy(m->alone);
    mean_book_destroy(m->relative);
    mean_book_destroy(m->watts);
    map_destroy(m->out_of_memory);
    map_destroy(m->kin_index);
    vec_free(&m->kin);
    vec_free(&m->kin_free);
    free(m);
}

static const struct model_ops datasheet_ops = {
    .name = "datasheet",
    .begin = datasheet_begin,
    .end = datasheet_end,
    .predict = datasheet_predict,
    .absorb = datasheet_absorb,
    .destroy = datasheet_destroy,
};

struct model datasheet_model_create(const struct gpu_sheet *types, int type_count)
{
    struct datasheet *m = mem_new(struct datasheet);

    m->prior = prior_make(types, type_count);
    m->alone = mean_book_create();
    m->relative = mean_book_create();
    m->watts = mean_book_create();
    m->out_of_memory = map_create();
    m->kin_index = map_create();
    return (struct model){.ops = &datasheet_ops, .self = m};
}
