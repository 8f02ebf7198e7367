/* feedback.c - the model of the policy feedback-only: sim_run.c gives it to Corgi's
 * planner in place of the one that learns; the levers are Corgi's */
#include "lab/policy/feedback.h"

#include "base/map.h"
#include "base/mem.h"
#include "base/rng.h"
#include "loop/estimate/predict.h"
#include "model/queueing.h"
#include "lab/policy/prior.h"
#include "model/running.h"

#include <math.h>
#include <stdlib.h>

/* How far jobs stray from the constant, one job's types from each other, and a cell from
 * its own measurements; likewise beside another job, and in watts. */
static const double alone_sd[] = {0.7, 0.3, 0.03};
static const double relative_sd[] = {0.35, 0.03};
static const double watts_sd[] = {0.4, 0.05};

enum book { BOOK_JOB = 1, BOOK_JOB_TYPE, BOOK_PAIR, BOOK_DEVICE };

struct feedback {
    struct prior prior;
    struct mean_book *means;
    struct map *out_of_memory;
};

static uint64_t key(enum book book, uint64_t a, uint64_t b, uint64_t c)
{
    return rng_mix(rng_mix(rng_mix((uint64_t)book, a), b), c);
}

static uint64_t device_key(const struct combination *where)
{
    uint64_t together = 0;

    for (int i = 0; i < where->count; i++)
        together += rng_mix(where->members[i].job->id, 7); /* order does not matter */
    return key(BOOK_DEVICE, together, (uint64_t)where->type, 0);
}

/* What the description tells is left aside: the rate asked for is the only hint. */
static double constant_log_rate(const struct feedback *m, const struct job *job, int type)
{
    const struct job plain = {
        .kind = job->kind, .need = job->need, .devices = job->devices};

    return prior_log_rate(&m->prior, &plain, type);
}

static struct mean_answer ask_alone(const struct feedback *m, const struct job *job,
                                    int type)
{
    const uint64_t keys[] = {key(BOOK_JOB, job->id, 0, 0),
                             key(BOOK_JOB_TYPE, job->id, (uint64_t)type, 0)};

    return mean_book_ask(m->means, keys, 2, alone_sd);
}

static struct mean_answer ask_pair(const struct feedback *m,
                                   const struct combination *where, int i, int k)
{
    const uint64_t pair = key(BOOK_PAIR, where->members[i].job->id,
                              where->members[k].job->id, (uint64_t)where->type);

    return mean_book_ask(m->means, &pair, 1, relative_sd);
}

struct log_rate {
    double alone, alone_variance;
    double relative, relative_variance;
    bool measured;
};

static struct log_rate ask_rate(const struct feedback *m, const struct combination *where,
                                int i)
{
    const struct job *job = where->members[i].job;
    struct mean_answer a = ask_alone(m, job, where->type);
    struct log_rate r = {.alone = constant_log_rate(m, job, where->type) + a.mean,
                         .alone_variance = a.sd * a.sd,
                         .measured = a.deepest == 1};

    for (int k = 0; k < where->count; k++) {
        if (k == i)
            continue;
        a = ask_pair(m, where, i, k);
        r.relative += fmin(0, prior_log_relative() + a.mean);
        r.relative_variance += a.sd * a.sd;
        r.measured = r.measured && a.deepest == 0;
    }
    return r;
}

static void feedback_predict(const void *self, struct prediction_cache *cache,
                             const struct combination *where, struct prediction *out)
{
    const struct feedback *m = self;
    uint64_t device = device_key(where);
    struct mean_answer watts = mean_book_ask(m->means, &device, 1, watts_sd);
    double cap_log = log(prior_cap_speed(&m->prior, where));
    size_t failures;

    (void)cache;
    for (int i = 0; i < where->count; i++) {
        struct log_rate r = ask_rate(m, where, i);

        out->rate[i] = estimate_from_log(
            r.alone + r.relative + cap_log, sqrt(r.alone_variance + r.relative_variance),
            r.measured ? ESTIMATE_MEASURED : ESTIMATE_INITIAL, 0);
        queueing_useful_estimate(where->members[i].job, &out->rate[i]);
    }
    out->watts = estimate_from_log(
        log(prior_watts(&m->prior, where)) + watts.mean, watts.sd,
        watts.deepest == 0 ? ESTIMATE_MEASURED : ESTIMATE_INITIAL, watts.observations);
    out->fits =
        map_get(m->out_of_memory, device, &failures) ? 0 : prior_fits(&m->prior, where);
}

/* A surprise is split between the rate alone and the sharing, each by its variance. */
static void absorb_rate(struct feedback *m, const struct observation *seen)
{
    const struct combination *where = &seen->where;
    const struct job *job = where->members[seen->subject].job;
    struct log_rate r = ask_rate(m, where, seen->subject);
    double surprise =
        log(seen->rate / prior_cap_speed(&m->prior, where)) - r.alone - r.relative;
    double weight = prior_weight(seen, surprise);
    double share = r.alone_variance / (r.alone_variance + r.relative_variance);
    const uint64_t keys[] = {key(BOOK_JOB, job->id, 0, 0),
                             key(BOOK_JOB_TYPE, job->id, (uint64_t)where->type, 0)};

    if (!(weight > 0))
        return;
    mean_book_add(m->means, keys, 2,
                  r.alone + share * surprise - constant_log_rate(m, job, where->type),
                  where->count > 1 ? 0.5 * weight : weight);
    for (int k = 0; k < where->count; k++) {
        uint64_t pair =
            key(BOOK_PAIR, job->id, where->members[k].job->id, (uint64_t)where->type);

        if (k != seen->subject)
            mean_book_add(m->means, &pair, 1,
                          (r.relative + (1 - share) * surprise) / (where->count - 1) -
                              prior_log_relative(),
                          weight);
    }
}

static void feedback_absorb(void *self, const struct observation *seen)
{
    struct feedback *m = self;
    uint64_t device = device_key(&seen->where);

    if (seen->out_of_memory) {
        map_put(m->out_of_memory, device, 1);
        return;
    }
    if (seen->rate > 0)
        absorb_rate(m, seen);
    if (isfinite(seen->device_watts) && seen->device_watts > 0)
        mean_book_add(m->means, &device, 1,
                      log(seen->device_watts / prior_watts(&m->prior, &seen->where)), 1);
}

static void feedback_job(void *self, const struct job *job)
{
    (void)self; /* ids are not used again: nothing to prepare or to forget */
    (void)job;
}

static void feedback_destroy(void *self)
{
    struct feedback *m = self;

    mean_book_destroy(m->means);
    map_destroy(m->out_of_memory);
    free(m);
}

static const struct model_ops feedback_ops = {
    .name = "feedback",
    .begin = feedback_job,
    .end = feedback_job,
    .predict = feedback_predict,
    .absorb = feedback_absorb,
    .destroy = feedback_destroy,
};

struct model feedback_model_create(const struct gpu_sheet *types, int type_count)
{
    struct feedback *m = mem_new(struct feedback);

    m->prior = prior_make(types, type_count);
    m->means = mean_book_create();
    m->out_of_memory = map_create();
    return (struct model){.ops = &feedback_ops, .self = m};
}
