/* generate.c - puts the parts of synth.h together, see generate.h */
#include "world/generate.h"

#include "base/mem.h"
#include "world/power.h"
#include "world/synth_private.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define GPUS_DEFAULT 3

/* Share of families that are also run on several devices. */
#define SCALABLE 0.65

/* A class of the world: one of the drawn jobs on a number of devices. */
struct variant {
    int job;
    int scale;
};

static struct synth_world draw_constants(const struct generate_options *options,
                                         struct rng *rng)
{
    bool given = options->noise_sd_max > 0;

    return (struct synth_world){
        .host_share = rng_log_range(rng, 0.03, 1.2),
        .fill = rng_range(rng, 0.5, 2),
        .noise_sd = rng_range(rng, given ? options->noise_sd_min : 0.03,
                              given ? options->noise_sd_max : 0.1),
        .missing = options->missing,
    };
}

/* Room for every job at four scales; returns how many there are. */
static int list_variants(struct variant *variants, const struct synth_job *jobs,
                         int jobs_count, bool scales, struct rng *rng)
{
    bool scalable = false;
    int count = 0;

    for (int j = 0; j < jobs_count; j++) {
        variants[count++] = (struct variant){.job = j, .scale = 1};
        if (j == 0 || jobs[j].family != jobs[j - 1].family)
            scalable = scales && rng_uniform(rng) < SCALABLE;
        for (int scale = 2; scalable && scale <= 8; scale *= 2)
            variants[count++] = (struct variant){.job = j, .scale = scale};
    }
    return count;
}

static void fill_class(struct world_class *c, const struct job_descriptor *told,
                       const struct synth_job *job, int scale)
{
    snprintf(c->name, sizeof(c->name), "%s (batch size %d)", told->family, told->batch);
    c->scale = scale;
    c->descriptor = *told;
    c->memory_gb = job->memory_gb;
}

/* A device is in use while kernels run, and the fuller the more of it. */
static double utilisation(const struct synth_cell *cell, double noise)
{
    double busy =
        cell->device_s / cell->step_s * (0.3 + 0.7 * sqrt(cell->occupancy)) * noise;

    return fmin(1, fmax(0.01, busy));
}

static void fill_cell(struct world *w, int g, int c, const struct synth_cell *cell,
                      bool fits, struct rng *rng)
{
    const struct gpu_sheet *sheet = &w->gpus[g];
    double busy = utilisation(cell, exp(0.1 * rng_normal(rng)));
    double watts = power_draw_watts(sheet, busy) * exp(0.05 * rng_normal(rng));
    int scale = w->classes[c].scale;

    *world_busy(w, g, c) = (float)busy;
    *world_alone(w, g, c) = fits ? (float)(scale / cell->step_s) : 0;
    *world_spread(w, g, c) = fits ? (float)(scale / cell->spread_step_s) : 0;
    if (fits)
        *world_watts(w, g, c) =
            (float)fmin(sheet->tdp_watts, fmax(sheet->idle_watts, watts));
}

static void fill_gpu(struct world *w, int g, const struct synth_gpu *gpu,
                     const struct synth_world *constants, const struct synth_job *jobs,
                     const struct variant *variants, struct rng *rng)
{
    struct synth_cell *cells = mem_array(struct synth_cell, (size_t)w->class_count);
    double noise = 1;

    for (int c = 0; c < w->class_count; c++) {
        const struct synth_job *job = &jobs[variants[c].job];

        if (variants[c].scale == 1)
            noise = exp(0.03 * rng_normal(rng));
        cells[c] = synth_run(job, gpu, constants, g, variants[c].scale, noise);
        fill_cell(w, g, c, &cells[c], job->memory_gb <= gpu->memory_gb, rng);
    }
    synth_interfere(w, g, cells, gpu, constants, rng);
    free(cells);
}

struct world *world_generate(const struct generate_options *options, struct rng *rng)
{
    int asked = options->gpu_count > 0 ? options->gpu_count : GPUS_DEFAULT;
    int gpu_count = asked < WORLD_MAX_GPUS ? asked : WORLD_MAX_GPUS;
    struct synth_gpu *gpus = mem_array(struct synth_gpu, (size_t)gpu_count);
    struct gpu_sheet *sheets = mem_array(struct gpu_sheet, (size_t)gpu_count);
    struct synth_world constants = draw_constants(options, rng);
    struct synth_job *jobs;
    struct job_descriptor *told;
    struct variant *variants;
    struct world *w;
    int count;

    synth_gpus(options, sheets, gpus, gpu_count, rng);
    count = synth_jobs(options, gpus, gpu_count, &jobs, &told, rng);
    variants = mem_array(struct variant, (size_t)count * 4);
    w = world_create(gpu_count,
                     list_variants(variants, jobs, count, options->scales, rng));
    for (int g = 0; g < gpu_count; g++)
        w->gpus[g] = sheets[g];
    for (int c = 0; c < w->class_count; c++)
        fill_class(&w->classes[c], &told[variants[c].job], &jobs[variants[c].job],
                   variants[c].scale);
    for (int g = 0; g < gpu_count; g++)
        fill_gpu(w, g, &gpus[g], &constants, jobs, variants, rng);
    free(gpus);
    free(sheets);
    free(jobs);
    free(told);
    free(variants);
    return w;
}
