/* rates.c - see rates.h */
#include "loop/estimate/rates.h"

#include "base/mem.h"
#include "loop/core/core.h"
#include "loop/estimate/ratios.h"
#include "loop/core/fit.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

/* Work explains little of a job's level: its efficiency is its own.  With so wide a prior
 * a measurement fixes the level and only ratios between GPUs are inferred. */
#define LEVEL_LOG_SD 2.0

struct rates {
    struct core *core;
    int jobs, gpus, capacity;
    double *seen;  /* (capacity, WORLD_MAX_GPUS) ln rates, NaN */
    size_t *index; /* the same: observation in the core */
};

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

    r->core = core_create(&wide, false);
    return r;
}

void rates_destroy(struct rates *r)
{
    if (!r)
        return;
    core_destroy(r->core);
    free(r->seen);
    free(r->index);
    free(r);
}

int rates_add_job(struct rates *r, const struct job_trait *job)
{
    if (r->jobs == r->capacity) {
        int old = r->capacity, new = old ? old * 2 : 32;

        r->seen = mem_resize(r->seen, (size_t)old * WORLD_MAX_GPUS,
                             (size_t) new *WORLD_MAX_GPUS, sizeof(double));
        r->index = mem_resize(r->index, (size_t)old * WORLD_MAX_GPUS,
                              (size_t) new *WORLD_MAX_GPUS, sizeof(size_t));
        r->capacity = new;
    }
    for (int g = 0; g < WORLD_MAX_GPUS; g++)
        r->seen[(size_t)r->jobs * WORLD_MAX_GPUS + (size_t)g] = NAN;
    core_add_job(r->core, job);
    return r->jobs++;
}

int rates_add_gpu(struct rates *r, const struct gpu_trait *gpu)
{
    assert(r->gpus < WORLD_MAX_GPUS);
    core_add_gpu(r->core, gpu);
    return r->gpus++;
}

double rates_seen(const struct rates *r, int job, int gpu)
{
    return r->seen[(size_t)job * WORLD_MAX_GPUS + (size_t)gpu];
}

/* Drop the observation of one cell; those behind it move up by one. */
static void forget(struct rates *r, size_t at)
{
    size_t n = core_count(r->core), dropped = r->index[at];
    bool *keep = mem_array(bool, n + 1);

    for (size_t i = 0; i < n; i++)
        keep[i] = i != dropped;
    core_retain(r->core, keep);
    for (size_t i = 0; i < (size_t)r->jobs * WORLD_MAX_GPUS; i++)
        if (!isnan(r->seen[i]) && r->index[i] > dropped)
            r->index[i]--;
    free(keep);
}

void rates_observe(struct rates *r, int job, int gpu, double log_rate)
{
    size_t at = (size_t)job * WORLD_MAX_GPUS + (size_t)gpu;

    assert(job < r->jobs && gpu < r->gpus);
    if (isnan(log_rate)) {
        if (!isnan(r->seen[at]))
            forget(r, at);
    } else if (isnan(r->seen[at])) {
        r->index[at] = core_observe(r->core, (struct cell){job, gpu, -1}, log_rate, 0);
    } else {
        core_revise(r->core, r->index[at], log_rate);
    }
    r->seen[at] = log_rate;
}

struct kernel_params rates_fit(const struct rates *r, int steps)
{
    static const enum kernel_param levels[] = {KERNEL_B0, KERNEL_BW, KERNEL_BS,
                                               KERNEL_S0, KERNEL_SW, KERNEL_VI,
                                               KERNEL_VL, KERNEL_VS};
    bool frozen[KERNEL_PARAM_COUNT] = {false};
    struct fit_options how = {.steps = steps, .rate = 0.04, .pull = 0.01};

    for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++)
        frozen[levels[i]] = true;
    how.frozen = frozen;
    how.max_rows = 300;
    return fit_params(r->core, core_params(r->core), &how);
}

void rates_set_params(struct rates *r, const struct kernel_params *params)
{
    struct kernel_params wide = widened(params);

    core_set_params(r->core, &wide);
}

static struct rates_guess carried_over(const struct rates *r,
                                       const struct ratios_view *view, int job, int gpu,
                                       int count)
{
    struct cell cell = {job, gpu, -1};
    double closed = 0, mean, var, level, level_sd;
    struct rates_guess guess = {.basis = count > 1 ? RATES_SEVERAL : RATES_ONE,
                                .observations = count};

    for (int g = 0; g < r->gpus; g++)
        if (!isnan(rates_seen(r, job, g)))
            closed += (rates_seen(r, job, g) + ratios_between(view, job, g, gpu)) / count;
    core_predict(r->core, &cell, 1, &mean, &var);
    guess.mean = (closed + mean) / 2;
    guess.sd = sqrt(var + (closed - mean) * (closed - mean) / 4);
    if (ratios_family_level(view, job, gpu, &level, &level_sd) > 0)
        guess.mean += (level - guess.mean) / 3;
    return guess;
}

struct rates_guess rates_predict(const struct rates *r, int job, int gpu)
{
    struct kernel_space space = core_space(r->core);
    struct ratios_view view = {space.jobs, space.gpus, r->jobs, r->gpus, r->seen};
    struct rates_guess guess = {.basis = RATES_NOTHING};
    int count = 0;

    if (!isnan(rates_seen(r, job, gpu)))
        return (struct rates_guess){rates_seen(r, job, gpu),
                                    sqrt(core_kernel(r->core)->noise), RATES_MEASURED, 1};
    for (int g = 0; g < r->gpus; g++)
        count += !isnan(rates_seen(r, job, g));
    if (count > 0)
        return carried_over(r, &view, job, gpu, count);
    guess.observations = ratios_family_level(&view, job, gpu, &guess.mean, &guess.sd);
    if (guess.observations > 0)
        guess.basis = RATES_FAMILY;
    else
        ratios_typical_level(&view, job, gpu, &guess.mean, &guess.sd);
    return guess;
}
