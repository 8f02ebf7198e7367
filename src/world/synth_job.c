/* synth_job.c - job families of a synthetic world, see synth_private.h */
#include "world/synth_private.h"

#include "base/mem.h"
#include "base/vec.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define FAMILIES_MIN 4
#define FAMILIES_MAX 10
/* A family has at most five batches at four scales each. */
#define FAMILY_CLASSES 20

/* Libraries and context of a process on the device; weights, gradients and two moments
 * of the optimizer in FP32. */
#define CONTEXT_GB        0.55
#define BYTES_A_PARAMETER 16e-9

/* A job's own deviation from its family on each card. */
#define QUIRK_FAMILY 0.12
#define QUIRK_JOB    0.05

static double log_normal(struct rng *rng, double sd)
{
    return exp(sd * rng_normal(rng));
}

struct family {
    struct synth_job job; /* at the smallest batch */
    struct job_descriptor descriptor;
    int batches;
    double footprint; /* factor of the true one on what the descriptor tells */
};

static void draw_work(struct family *f, struct rng *rng)
{
    static const int batches[] = {1, 1, 3, 4, 5, 5};
    struct synth_job *job = &f->job;

    job->flop_per_sample = 6e9 * rng_log_range(rng, 0.002, 10);
    f->batches = batches[rng_below(rng, 6)];
    job->batch = (double)(4u << rng_below(rng, 6));
    if (f->batches == 1) { /* jobs known at one batch only are odd ones: large samples */
        job->batch = (double)(1u << rng_below(rng, 5));
        job->flop_per_sample *= exp(rng_range(rng, 0, 4));
    }
    job->flop_per_byte = rng_log_range(rng, 5, 80);
    job->efficiency = rng_range(rng, 0.2, 0.7);
    job->kernels = rng_log_range(rng, 50, 3000);
    job->sms_per_sample = rng_log_range(rng, 0.5, 80);
    job->host_s = rng_log_range(rng, 5e-4, 0.03);
    job->host_s_per_sample = rng_log_range(rng, 1e-6, 2e-3);
    if (rng_below(rng, 2) == 0)
        job->host_s_per_sample *= 0.2;
    job->overlap = rng_uniform(rng);
}

/* People choose the largest batch so that it fits a card they have: one between the
 * smallest and the largest of the world, filled somewhere between a fifth and a bit too
 * much.  It always fits the largest. */
static void draw_memory(struct family *f, double smallest_gb, double largest_gb,
                        struct rng *rng)
{
    struct job_descriptor *d = &f->descriptor;
    double gmac = f->job.flop_per_sample / 6e9;
    double batch = f->job.batch * (double)(1u << (f->batches - 1));
    double chosen = smallest_gb * pow(largest_gb / smallest_gb, rng_uniform(rng));
    double limit = fmin(chosen * rng_log_range(rng, 0.2, 1.1), 0.95 * largest_gb);
    double fixed, room;

    f->footprint = log_normal(rng, 0.15);
    d->gmac_per_sample = gmac;
    d->params_millions =
        fmin(rng_log_range(rng, 0.5, 200) * pow(gmac, 0.3), 0.1 * smallest_gb * 1e3 / 16);
    d->memory_mb_per_sample = 40 * pow(gmac, 0.75) * log_normal(rng, 0.8);
    fixed = CONTEXT_GB + d->params_millions * 1e6 * BYTES_A_PARAMETER;
    room = fmax(limit / f->footprint - fixed, 0.1);
    d->memory_mb_per_sample = fmin(d->memory_mb_per_sample, 1e3 * room / batch);
    f->job.memory_gb = fixed; /* the batch comes on top */
    f->job.gradient_gb = d->params_millions * 4e-3;
}

static void draw_family(struct family *f, int index, const struct synth_gpu *gpus,
                        int gpu_count, struct rng *rng)
{
    double smallest = INFINITY, largest = 0;

    memset(f, 0, sizeof(*f));
    f->job.family = index;
    draw_work(f, rng);
    for (int g = 0; g < gpu_count; g++) {
        smallest = fmin(smallest, gpus[g].memory_gb);
        largest = fmax(largest, gpus[g].memory_gb);
        f->job.quirk_time[g] = (float)(QUIRK_FAMILY * rng_normal(rng));
        f->job.quirk_suffer[g] = (float)(QUIRK_FAMILY * rng_normal(rng));
        f->job.quirk_hurt[g] = (float)(QUIRK_FAMILY * rng_normal(rng));
    }
    draw_memory(f, smallest, largest, rng);
    f->descriptor.model =
        (enum model_kind)(MODEL_CONV + rng_below(rng, MODEL_KIND_COUNT - MODEL_CONV));
    snprintf(f->descriptor.family, sizeof(f->descriptor.family), "synthetic-%d",
             index + 1);
}

static struct synth_job at_batch(const struct family *f, int step, int gpu_count,
                                 struct rng *rng)
{
    struct synth_job job = f->job;

    job.batch *= (double)(1u << step);
    job.memory_gb += 1e-3 * f->descriptor.memory_mb_per_sample * job.batch;
    job.memory_gb *= f->footprint;
    for (int g = 0; g < gpu_count; g++) {
        job.quirk_time[g] += (float)(QUIRK_JOB * rng_normal(rng));
        job.quirk_suffer[g] += (float)(QUIRK_JOB * rng_normal(rng));
        job.quirk_hurt[g] += (float)(QUIRK_JOB * rng_normal(rng));
    }
    return job;
}

/* Asked for or drawn, and never more than a world may hold. */
static int family_count(const struct generate_options *options, int gpu_count,
                        struct rng *rng)
{
    int min = options->family_min > 0 ? options->family_min : FAMILIES_MIN;
    int max = options->family_max > 0 ? options->family_max : FAMILIES_MAX;
    double classes = fmin(WORLD_MAX_CLASSES, sqrt((double)WORLD_MAX_PAIRS / gpu_count));
    int limit = (int)(classes / FAMILY_CLASSES);

    if (max < min)
        max = min;
    min += (int)rng_below(rng, (size_t)(max - min + 1));
    return min < limit ? min : limit;
}

int synth_jobs(const struct generate_options *options, const struct synth_gpu *gpus,
               int gpu_count, struct synth_job **jobs,
               struct job_descriptor **descriptors, struct rng *rng)
{
    vec_of(struct synth_job) all = {0};
    vec_of(struct job_descriptor) told = {0};
    int families = family_count(options, gpu_count, rng);

    for (int i = 0; i < families; i++) {
        struct family f;

        draw_family(&f, i, gpus, gpu_count, rng);
        for (int step = 0; step < f.batches; step++) {
            vec_push(&all, at_batch(&f, step, gpu_count, rng));
            f.descriptor.batch = (int)all.items[all.count - 1].batch;
            vec_push(&told, f.descriptor);
        }
    }
    *jobs = all.items;
    *descriptors = told.items;
    return (int)all.count;
}
