/* rates.c - rates alone: classes.c tells it what was measured and asks it what was not */
#include "model/rates.h"

#include "base/mem.h"
#include "base/vec.h"
#include "model/ratios.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

/* Work explains little of a job's level: its efficiency is its own.  With so wide a prior
 * a measurement fixes the level and only ratios between GPUs are inferred. */
#define LEVEL_LOG_SD 2.0

/* Observations the core holds; of more it forgets the oldest quarter, ratios do not. */
#define CORE_MAX    512
#define NOT_IN_CORE ((size_t)-1)

/* Of a rate carried over by ratios alone. */
#define RATIO_LOG_SD 0.3

/* The network's share of a rate carried over while nothing speaks for another: the best
 * on synthetic worlds with families held out. */
#define NET_WEIGHT 0.5

static struct kernel_params widened(const struct kernel_params *params)
{
    struct kernel_params wide = *params;

    wide.v[KERNEL_VI] = LEVEL_LOG_SD;
    return wide;
}

struct rates *rates_create(const struct kernel_params *params)
{
    struct rates *r = mem_new(struct rates);
    struct kernel_params wide = widened(params);

    r->core = gp_create(&wide, false);
    r->net = statnet_shipped("alone");
    r->weight = NET_WEIGHT;
    return r;
}

void rates_destroy(struct rates *r)
{
    if (!r)
        return;
    gp_destroy(r->core);
    statnet_destroy(r->net);
    free(r->seen);
    free(r->busy);
    free(r->index);
    free(r);
}

int rates_add_job(struct rates *r, const struct job_trait *job)
{
    if (r->jobs == r->capacity) {
        int old = r->capacity, new = old ? old * 2 : 32;

        r->seen = mem_resize(r->seen, (size_t)old * WORLD_MAX_GPUS,
                             (size_t) new *WORLD_MAX_GPUS, sizeof(double));
        r->busy = mem_resize(r->busy, (size_t)old * WORLD_MAX_GPUS,
                             (size_t) new *WORLD_MAX_GPUS, sizeof(double));
        r->index = mem_resize(r->index, (size_t)old * WORLD_MAX_GPUS,
                              (size_t) new *WORLD_MAX_GPUS, sizeof(size_t));
        r->capacity = new;
    }
    for (size_t g = 0; g < WORLD_MAX_GPUS; g++)
        r->seen[(size_t)r->jobs * WORLD_MAX_GPUS + g] =
            r->busy[(size_t)r->jobs * WORLD_MAX_GPUS + g] = NAN;
    gp_add_job(r->core, job);
    return r->jobs++;
}

int rates_add_gpu(struct rates *r, const struct gpu_trait *gpu)
{
    assert(r->gpus < WORLD_MAX_GPUS);
    gp_add_gpu(r->core, gpu);
    return r->gpus++;
}

/* Drop the oldest quarter of the core.  What was seen stays seen. */
static void forget_oldest(struct rates *r)
{
    bool keep[CORE_MAX];

    for (size_t i = 0; i < CORE_MAX; i++)
        keep[i] = i >= CORE_MAX / 4;
    gp_retain(r->core, keep);
    for (size_t i = 0; i < (size_t)r->jobs * WORLD_MAX_GPUS; i++)
        if (!isnan(r->seen[i]) && r->index[i] != NOT_IN_CORE)
            r->index[i] = keep[r->index[i]] ? r->index[i] - CORE_MAX / 4 : NOT_IN_CORE;
}

static void append(struct rates *r, int job, int gpu, double log_rate)
{
    if (r->core->count == CORE_MAX)
        forget_oldest(r);
    r->index[(size_t)job * WORLD_MAX_GPUS + (size_t)gpu] =
        gp_observe(r->core, (struct cell){job, gpu, -1}, log_rate, 0);
}

void rates_observe(struct rates *r, int job, int gpu, double log_rate)
{
    size_t at = (size_t)job * WORLD_MAX_GPUS + (size_t)gpu;

    assert(job < r->jobs && gpu < r->gpus);
    if (isnan(r->seen[at]) || r->index[at] == NOT_IN_CORE) {
        append(r, job, gpu, log_rate);
    } else {
        r->core->values[r->index[at]] = log_rate;
        gp_revise(r->core);
    }
    r->seen[at] = log_rate;
}

void rates_observe_busy(struct rates *r, int job, int gpu, double busy)
{
    r->busy[(size_t)job * WORLD_MAX_GPUS + (size_t)gpu] =
        isnan(busy) ? NAN : fmin(fmax(busy, 0), 1);
}

void rates_set_params(struct rates *r, const struct kernel_params *params)
{
    struct kernel_params wide = widened(params);

    gp_set_params(r->core, &wide);
}

static struct ratios_view view_of(const struct rates *r)
{
    const struct kernel_space *space = &r->core->space;

    return (struct ratios_view){space->jobs, space->gpus, r->jobs,
                                r->gpus,     r->seen,     NULL};
}

/* Types the job was measured on. */
static int count_seen(const struct rates *r, int job)
{
    int count = 0;

    for (int g = 0; g < r->gpus; g++)
        count += !isnan(rates_seen(r, job, g));
    return count;
}

void rates_mix(struct rates_guess *guess, double weight)
{
    guess->mean = (1 - weight) * guess->plain.mean + weight * guess->net.mean;
    guess->sd = (1 - weight) * guess->plain.sd + weight * guess->net.sd;
}

/* What closed forms and the core say. */
static struct ratios_base carry_base(const struct rates *r,
                                     const struct ratios_view *view, int job, int gpu,
                                     int count)
{
    struct cell cell = {job, gpu, -1};
    double var = RATIO_LOG_SD * RATIO_LOG_SD, level, level_sd;
    bool known = false; /* to the core */
    struct ratios_base base = {0};

    for (int g = 0; g < r->gpus; g++)
        if (!isnan(rates_seen(r, job, g))) {
            base.closed +=
                (rates_seen(r, job, g) + ratios_between(view, job, g, gpu)) / count;
            known = known ||
                    r->index[(size_t)job * WORLD_MAX_GPUS + (size_t)g] != NOT_IN_CORE;
        }
    base.core = base.closed;
    if (known && !r->closed)
        gp_predict(r->core, &cell, 1, &base.core, &var);
    base.core_sd = sqrt(var);
    base.mean = (base.closed + base.core) / 2;
    if (ratios_family_level(view, job, gpu, &level, &level_sd) > 0)
        base.mean += (level - base.mean) / 3;
    return base;
}

bool rates_transfer_row(const struct rates *r, int job, int gpu, struct statnet_row *row)
{
    struct ratios_view view = view_of(r);
    int count = count_seen(r, job);
    struct ratios_base base;

    if (count == 0 || !isnan(rates_seen(r, job, gpu)))
        return false;
    base = carry_base(r, &view, job, gpu, count);
    return ratios_features(&view, r->busy, job, gpu, &base, row);
}

static struct rates_guess carried_over(const struct rates *r,
                                       const struct ratios_view *view, int job, int gpu,
                                       int count)
{
    struct ratios_base base = carry_base(r, view, job, gpu, count);
    double apart = (base.closed - base.core) / 2;
    struct rates_guess guess = {.basis = count > 1 ? RATES_SEVERAL : RATES_ONE,
                                .observations = count};
    struct statnet_guess said;
    struct statnet_row row = {.base = 0};

    guess.plain = guess.net =
        (struct rates_belief){base.mean, hypot(base.core_sd, apart)};
    guess.corrected = ratios_features(view, r->busy, job, gpu, &base, &row);
    if (guess.corrected) {
        statnet_predict(r->net, &row, 1, &said);
        guess.net = (struct rates_belief){said.mean, said.sd};
    }
    rates_mix(&guess, r->weight);
    return guess;
}

/* A job never measured: the level of its family, else that of everybody. */
static struct rates_guess from_others(const struct ratios_view *view, int job, int gpu)
{
    struct rates_guess guess = {.basis = RATES_NOTHING};

    guess.observations = ratios_family_level(view, job, gpu, &guess.mean, &guess.sd);
    if (guess.observations > 0)
        guess.basis = RATES_FAMILY;
    else
        ratios_typical_level(view, job, gpu, &guess.mean, &guess.sd);
    guess.plain = guess.net = (struct rates_belief){guess.mean, guess.sd};
    return guess;
}

struct rates_guess rates_predict(const struct rates *r, int job, int gpu)
{
    struct ratios_view view = view_of(r);
    struct rates_belief seen = {rates_seen(r, job, gpu), sqrt(r->core->kernel.noise)};
    int count = count_seen(r, job);

    if (!isnan(seen.mean))
        return (struct rates_guess){.mean = seen.mean,
                                    .sd = seen.sd,
                                    .plain = seen,
                                    .net = seen,
                                    .basis = RATES_MEASURED,
                                    .observations = 1};
    return count > 0 ? carried_over(r, &view, job, gpu, count)
                     : from_others(&view, job, gpu);
}

struct rates_guess rates_predict_guest(const struct rates *r,
                                       const struct job_trait *guest, int gpu)
{
    struct ratios_view view = view_of(r);

    view.guest = guest;
    return from_others(&view, RATIOS_GUEST, gpu);
}

/* ---- what the network is worth here ----------------------------------------------- */

/* One guess that is off by orders of magnitude must not decide. */
#define ERROR_MAX 2.0

/* What it costs to move all of the weight, in relative error: as in blend.c. */
#define WEIGHT_COST 0.02

/* The shipped weight counts as so many groups. */
#define PRIOR_GROUPS 10.0

static double weight_at(int step)
{
    return (double)step / (RATES_STEPS - 1);
}

void rates_evidence_add(struct rates_evidence *e, const struct rates_guess *said,
                        double truth, bool fresh)
{
    for (int i = 0; i < RATES_STEPS; i++) {
        struct rates_guess g = *said;

        rates_mix(&g, weight_at(i));
        e->error[i] += fmin(fabs(expm1(g.mean - truth)), ERROR_MAX);
    }
    e->count++;
    e->groups += fresh;
}

double rates_evidence_weight(const struct rates_evidence *e)
{
    double least = INFINITY, best = NET_WEIGHT;

    if (e->count <= 0 || e->groups <= 0)
        return best;
    for (int i = 0; i < RATES_STEPS; i++) {
        double moved = fabs(weight_at(i) - NET_WEIGHT);
        double loss =
            e->error[i] / e->count + WEIGHT_COST * moved * (1 + PRIOR_GROUPS / e->groups);

        if (loss < least) {
            least = loss;
            best = weight_at(i);
        }
    }
    return best;
}

void rates_learn_weight(struct rates *r, int job, int gpu, double log_rate)
{
    struct rates_guess said = rates_predict(r, job, gpu);

    if (!said.corrected)
        return;
    rates_evidence_add(&r->evidence, &said, log_rate, said.basis == RATES_ONE);
    r->weight = rates_evidence_weight(&r->evidence);
}

/* ---- for checkpoints -------------------------------------------------------------- */

struct rate_read {
    uint64_t order; /* in the core; NOT_IN_CORE: seen, and forgotten there */
    int job, gpu;
    double log_rate;
};

static int by_order(const void *a, const void *b)
{
    const struct rate_read *x = a, *y = b;

    return (x->order > y->order) - (x->order < y->order);
}

/* The core forgets the oldest first: they come back in the order they came in. */
static void observe_again(struct rates *r, struct rate_read *items, size_t count)
{
    if (count > 0)
        qsort(items, count, sizeof(*items), by_order);
    for (size_t i = 0; i < count; i++) {
        size_t at = (size_t)items[i].job * WORLD_MAX_GPUS + (size_t)items[i].gpu;

        r->index[at] = NOT_IN_CORE;
        if (items[i].order != NOT_IN_CORE && r->core->count < CORE_MAX)
            append(r, items[i].job, items[i].gpu, items[i].log_rate);
        r->seen[at] = items[i].log_rate;
    }
}

void rates_code(struct rates *r, struct codec *c)
{
    vec_of(struct rate_read) all = {0};
    struct kernel_params params = r->core->params;

    kernel_params_code(c, &params);
    if (c->in && !c->in->bad)
        rates_set_params(r, &params);
    for (size_t j = 0; codec_next(c, &j, (size_t)r->jobs); j++) {
        struct job_trait trait = {0};

        if (c->out)
            trait = r->core->space.jobs[j];
        job_trait_code(c, &trait);
        if (c->in)
            rates_add_job(r, &trait);
        for (int g = 0; g < r->gpus; g++) {
            size_t at = j * WORLD_MAX_GPUS + (size_t)g;
            struct rate_read it = {isnan(r->seen[at]) ? NOT_IN_CORE : r->index[at],
                                   (int)j, g, r->seen[at]};

            codec_or_nan(c, &it.log_rate, 1);
            codec_u64(c, &it.order);
            if (c->in && !c->in->bad && fabs(it.log_rate) < BYTES_LOG_MOST)
                vec_push(&all, it);
        }
        for (int g = 0; g < r->gpus; g++) {
            double busy = r->busy[j * WORLD_MAX_GPUS + (size_t)g];

            codec_or_nan(c, &busy, 1);
            if (c->in)
                rates_observe_busy(r, (int)j, g, busy);
        }
    }
    observe_again(r, all.items, all.count);
    vec_free(&all);
    for (int i = 0; i < RATES_STEPS; i++)
        codec_at_least(c, &r->evidence.error[i], 0);
    codec_at_least(c, &r->evidence.count, 0);
    codec_at_least(c, &r->evidence.groups, 0);
    if (c->in)
        r->weight = rates_evidence_weight(&r->evidence);
}
