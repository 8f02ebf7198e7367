/* rates.c - rates alone: classes.c tells it what was measured and asks it what was not */
#include "model/rates.h"

#include "base/mem.h"
#include "base/vec.h"
#include "model/by_user.h"

#include <assert.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>

/* Work explains little of a job's level: its efficiency is its own.  With so wide a prior
 * a measurement fixes the level and only ratios between GPUs are inferred. */
#define LEVEL_LOG_SD 2.0

/* Observations the core holds; of more it forgets the oldest quarter, ratios do not. */
#define CORE_MAX    512
#define NOT_IN_CORE ((size_t)-1)

/* A rate further than this from what the job's other rates and all other jobs say, in
 * the log, tells the core no more than one so far: no two types differ so much more for
 * one job than for others. */
#define CORE_FAR 1.5

/* What users say whom nobody believes moves a guess by at most a factor of ten, and is
 * worth this against the typical level. */
#define RUMOUR_MOST   2.3
#define RUMOUR_LOG_SD 0.8

/* Of a rate carried over by ratios alone. */
#define RATIO_LOG_SD 0.3

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
    r->net = statnet_shipped();
    r->weight = rates_evidence_weight(&r->evidence);
    return r;
}

void rates_destroy(struct rates *r)
{
    if (!r)
        return;
    gp_destroy(r->core);
    statnet_destroy(r->net);
    free(r->seen);
    free(r->owners);
    free(r->busy);
    free(r->index);
    free(r);
}

int rates_add_job(struct rates *r, const struct job_trait *job)
{
    return rates_add_job_of(r, job, 0, job->family);
}

int rates_add_job_of(struct rates *r, const struct job_trait *job, int user, int family)
{
    if (r->jobs == r->capacity) {
        int old = r->capacity, new = old ? old * 2 : 32;

        r->seen = mem_resize(r->seen, (size_t)old * WORLD_MAX_GPUS,
                             (size_t) new *WORLD_MAX_GPUS, sizeof(double));
        r->busy = mem_resize(r->busy, (size_t)old * WORLD_MAX_GPUS,
                             (size_t) new *WORLD_MAX_GPUS, sizeof(double));
        r->index = mem_resize(r->index, (size_t)old * WORLD_MAX_GPUS,
                              (size_t) new *WORLD_MAX_GPUS, sizeof(size_t));
        r->owners = mem_resize(r->owners, (size_t)old, (size_t) new, sizeof(*r->owners));
        r->capacity = new;
    }
    for (size_t g = 0; g < WORLD_MAX_GPUS; g++)
        r->seen[(size_t)r->jobs * WORLD_MAX_GPUS + g] =
            r->busy[(size_t)r->jobs * WORLD_MAX_GPUS + g] = NAN;
    gp_add_job(r->core, job);
    r->owners[r->jobs] = (struct ratios_owner){user, family, 1};
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

static struct ratios_view view_of(const struct rates *r)
{
    const struct kernel_space *space = &r->core->space;

    return (struct ratios_view){.jobs = space->jobs,
                                .gpus = space->gpus,
                                .job_count = r->jobs,
                                .gpu_count = r->gpus,
                                .seen = r->seen,
                                .owners = r->trust ? r->owners : NULL,
                                .trust = r->trust};
}

/* Types the job was measured on. */
static int count_seen(const struct rates *r, int job)
{
    int count = 0;

    for (int g = 0; g < r->gpus; g++)
        count += !isnan(rates_seen(r, job, g));
    return count;
}

/* What the core is told of a cell: what was seen, but not far beyond what the job's other
 * cells and all other jobs say of it. */
static double bounded(const struct rates *r, int job, int gpu, double log_rate)
{
    struct ratios_view view = view_of(r);
    double sum = 0;
    int count = 0;

    if (!r->trust)
        return log_rate;
    for (int g = 0; g < r->gpus; g++)
        if (g != gpu && !isnan(rates_seen(r, job, g))) {
            sum += rates_seen(r, job, g) + ratios_between(&view, job, g, gpu);
            count++;
        }
    if (count == 0)
        return log_rate;
    return fmax(sum / count - CORE_FAR, fmin(log_rate, sum / count + CORE_FAR));
}

static int by_user_number(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;

    return (x > y) - (x < y);
}

/* A job was measured for the first time: no user has more to say than most. */
static void share_voices(struct rates *r)
{
    int *users = mem_array(int, (size_t)r->jobs + 1);
    struct by_user *all = mem_array(struct by_user, (size_t)r->jobs + 1);
    size_t jobs = 0, count = 0;
    double cap;

    for (int j = 0; j < r->jobs; j++)
        if (count_seen(r, j) > 0)
            users[jobs++] = r->owners[j].user;
    qsort(users, jobs, sizeof(*users), by_user_number);
    for (size_t i = 0; i < jobs; i++) {
        if (i == 0 || users[i] != users[i - 1])
            all[count++] = (struct by_user){users[i], 0};
        all[count - 1].weight++;
    }
    cap = by_user_cap(all, count);
    for (int j = 0; j < r->jobs; j++)
        for (size_t i = 0; i < count; i++)
            if ((int)all[i].value == r->owners[j].user)
                r->owners[j].voice = fmin(1, cap / all[i].weight);
    free(users);
    free(all);
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
        append(r, job, gpu, bounded(r, job, gpu, log_rate));
    } else {
        r->core->values[r->index[at]] = bounded(r, job, gpu, log_rate);
        gp_revise(r->core);
    }
    if (r->trust && count_seen(r, job) == 0) {
        r->seen[at] = log_rate;
        share_voices(r);
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
    double var = RATIO_LOG_SD * RATIO_LOG_SD;
    struct ratios_level level = ratios_family_level(view, job, gpu);
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
    if (level.count > 0)
        base.mean += (level.mean - base.mean) / 3;
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

/* Where the job's own cells are only carried over, users its own believes may have
 * measured the very cell. */
static void hear_others(const struct ratios_view *view, int job, int gpu,
                        struct rates_guess *guess)
{
    struct ratios_level said = ratios_family_level(view, job, gpu);
    double own = guess->plain.sd * guess->plain.sd, var = said.sd * said.sd;

    if (said.count == 0 || !said.others)
        return;
    guess->plain.mean += (said.mean - guess->plain.mean) * own / (own + var);
    guess->plain.sd = sqrt(own * var / (own + var));
    guess->net = guess->plain;
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
    hear_others(view, job, gpu, &guess);
    guess.corrected = ratios_features(view, r->busy, job, gpu, &base, &row);
    if (guess.corrected) {
        statnet_predict(r->net, &row, 1, &said);
        guess.net = (struct rates_belief){said.mean, said.sd};
    }
    rates_mix(&guess, r->weight);
    return guess;
}

/* What others say of the family, whom nobody believes yet: something, but no more than a
 * guess. */
static void hear_rumour(const struct ratios_view *view, int job, int gpu,
                        struct rates_guess *guess)
{
    struct ratios_level said = ratios_rumour(view, job, gpu);
    double var = guess->sd * guess->sd, own = RUMOUR_LOG_SD * RUMOUR_LOG_SD;
    double off = said.mean - guess->mean;

    if (said.count == 0)
        return;
    off = fmax(-RUMOUR_MOST, fmin(off, RUMOUR_MOST));
    guess->mean += off * var / (var + own);
    guess->sd = sqrt(var * own / (var + own) + own);
}

/* A job never measured: the level of its family, else that of everybody. */
static struct rates_guess from_others(const struct ratios_view *view, int job, int gpu)
{
    struct rates_guess guess = {.basis = RATES_NOTHING};
    struct ratios_level level = ratios_family_level(view, job, gpu);

    if (level.count > 0) {
        guess.observations = level.count;
        guess.basis = RATES_FAMILY;
        guess.mean = level.mean;
        guess.sd = level.sd;
    } else {
        ratios_typical_level(view, job, gpu, &guess.mean, &guess.sd);
        hear_rumour(view, job, gpu, &guess);
    }
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
                                       const struct rates_guest *guest, int gpu)
{
    struct ratios_view view = view_of(r);

    view.guest = guest->trait;
    view.guest_owner = (struct ratios_owner){guest->user, guest->family, 1};
    return from_others(&view, RATIOS_GUEST, gpu);
}

/* ---- for checkpoints -------------------------------------------------------------- */

struct rate_read {
    uint64_t order; /* in the core; NOT_IN_CORE: seen, and forgotten there */
    int job, gpu;
    double log_rate, core; /* core: what it was told */
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
            append(r, items[i].job, items[i].gpu, items[i].core);
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
        struct ratios_owner owner = {0};

        if (c->out) {
            trait = r->core->space.jobs[j];
            owner = r->owners[j];
        }
        job_trait_code(c, &trait);
        codec_int(c, &owner.user, -1, INT_MAX);
        codec_int(c, &owner.family, -1, KERNEL_FAMILIES);
        if (c->in)
            rates_add_job_of(r, &trait, owner.user, owner.family);
        for (int g = 0; g < r->gpus; g++) {
            size_t at = j * WORLD_MAX_GPUS + (size_t)g;
            struct rate_read it = {isnan(r->seen[at]) ? NOT_IN_CORE : r->index[at],
                                   (int)j, g, r->seen[at], r->seen[at]};

            if (it.order != NOT_IN_CORE)
                it.core = r->core->values[it.order];
            codec_or_nan(c, &it.log_rate, 1);
            codec_or_nan(c, &it.core, 1);
            codec_u64(c, &it.order);
            if (c->in && !c->in->bad && fabs(it.log_rate) < BYTES_LOG_MOST &&
                fabs(it.core) < BYTES_LOG_MOST)
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
    if (c->in && r->trust)
        share_voices(r);
    for (int i = 0; i < RATES_STEPS; i++)
        codec_at_least(c, &r->evidence.error[i], 0);
    codec_at_least(c, &r->evidence.count, 0);
    codec_at_least(c, &r->evidence.groups, 0);
    if (c->in)
        r->weight = rates_evidence_weight(&r->evidence);
}
