/* generate.c - draws a synthetic world: its cards, its jobs, how each runs on each, alone
 * and beside another
 *
 * The simulated engine calls world_generate() for its own world, the laboratory for
 * worlds to train and to measure on.  Each part draws from the one generator it is
 * handed, in a fixed order.  Times are seconds a step. */
#include "world/generate.h"

#include "base/mem.h"
#include "base/vec.h"
#include "world/power.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the sheet does not tell of a card and of two jobs on it. */
struct synth_gpu {
    double flops;       /* true FP32 flop/s */
    double bytes_per_s; /* true memory bandwidth */
    double sms;
    double memory_gb;          /* that jobs can have */
    double host;               /* speed of the node's processors, 1 is common */
    double node_gbs;           /* gradients between devices of a node */
    double spread_gbs;         /* and between nodes */
    double kernel_pull;        /* long kernels of the other hold a job up */
    double free_share;         /* two jobs whose occupancies sum below do not meet */
    double bandwidth_conflict; /* slow-down of two jobs that both wait for memory */
    double host_conflict;      /* and of two that both wait for the processors */
};

/* Constants of one world. */
struct synth_world {
    double host_share; /* host time of all jobs: many worlds are GPU bound */
    double fill;       /* samples it takes to fill an SM */
    double noise_sd;   /* of measured relative speeds */
    double missing;
};

/* A job family at one batch size. */
struct synth_job {
    int family;
    struct job_descriptor told;
    double flop_per_sample;
    double batch;
    double flop_per_byte;
    double efficiency; /* share of peak when the device is full */
    double kernels;    /* a step */
    double sms_per_sample;
    double host_s; /* a step */
    double host_s_per_sample;
    double overlap;     /* of host and device, 0..1 */
    double memory_gb;   /* true footprint */
    double gradient_gb; /* exchanged a step when on several devices */
    /* (gpus) quirks of this job on each card, as logs: device time, how much it suffers,
     * how much it hurts. */
    float quirk_time[WORLD_MAX_GPUS];
    float quirk_suffer[WORLD_MAX_GPUS];
    float quirk_hurt[WORLD_MAX_GPUS];
};

/* How one class runs on one card, as interference needs it. */
struct synth_cell {
    double device_s, host_s, step_s, spread_step_s;
    double occupancy;    /* 0..1 */
    double memory_share; /* of the time is memory's, 0..1 */
    double kernel_log_s; /* log of the mean kernel length */
    double overlap;
    double suffer, hurt; /* factors */
    double memory_gb;
};

static double log_normal(struct rng *rng, double sd)
{
    return exp(sd * rng_normal(rng));
}

/* ---- cards ------------------------------------------------------------------------- */

/* Jobs never get all of the memory on the sheet. */
#define MEMORY_USABLE 0.97

/* Interference has no data sheet. */
static void draw_conflicts(struct synth_gpu *gpus, int count, struct rng *rng)
{
    double calm = rng_below(rng, 3) == 2 ? 0.3 : 1;

    calm *= rng_uniform(rng);
    for (int g = 0; g < count; g++) {
        gpus[g].kernel_pull = rng_range(rng, 0, 0.6);
        gpus[g].free_share = rng_uniform(rng) * calm;
        gpus[g].bandwidth_conflict = rng_range(rng, 0, 0.5);
        gpus[g].host_conflict = rng_uniform(rng);
    }
}

/* The sheets, and what is behind them. */
static void draw_gpus(const struct generate_options *options, struct gpu_sheet *sheets,
                      struct synth_gpu *gpus, int count, struct rng *rng)
{
    double jitter = options->gpus ? options->sheet_jitter : 0;
    double newer_hosts, node_gbs, spread_gbs;

    if (options->gpus)
        for (int g = 0; g < count; g++)
            sheets[g] = options->gpus[g];
    else
        options->draw(sheets, count, rng);
    newer_hosts = rng_range(rng, 0, 0.3);
    node_gbs = rng_log_range(rng, 4, 20);
    spread_gbs = rng_log_range(rng, 0.5, 4);
    for (int g = 0; g < count; g++) {
        struct synth_gpu *gpu = &gpus[g];
        double speed = sheets[g].fp32_tflops / sheets[0].fp32_tflops;

        gpu->flops = 1e12 * sheets[g].fp32_tflops * log_normal(rng, jitter);
        gpu->bytes_per_s = 1e9 * sheets[g].bandwidth_gbs * log_normal(rng, jitter);
        gpu->sms = sheets[g].sms;
        gpu->memory_gb = MEMORY_USABLE * sheets[g].memory_gb;
        gpu->host = log_normal(rng, 0.25) * pow(speed, newer_hosts);
        gpu->node_gbs = node_gbs * sqrt(sheets[g].bandwidth_gbs / 500);
        gpu->spread_gbs = fmin(spread_gbs, gpu->node_gbs);
    }
    draw_conflicts(gpus, count, rng);
}

/* ---- jobs -------------------------------------------------------------------------- */

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

struct family {
    struct synth_job job; /* at the smallest batch */
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
    struct job_descriptor *d = &f->job.told;
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

static void add_quirks(struct synth_job *job, int gpu_count, double sd, struct rng *rng)
{
    for (int g = 0; g < gpu_count; g++) {
        job->quirk_time[g] += (float)(sd * rng_normal(rng));
        job->quirk_suffer[g] += (float)(sd * rng_normal(rng));
        job->quirk_hurt[g] += (float)(sd * rng_normal(rng));
    }
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
    }
    add_quirks(&f->job, gpu_count, QUIRK_FAMILY, rng);
    draw_memory(f, smallest, largest, rng);
    f->job.told.model =
        (enum model_kind)(MODEL_CONV + rng_below(rng, MODEL_KIND_COUNT - MODEL_CONV));
    snprintf(f->job.told.family, sizeof(f->job.told.family), "synthetic-%d", index + 1);
}

static struct synth_job at_batch(const struct family *f, int step, int gpu_count,
                                 struct rng *rng)
{
    struct synth_job job = f->job;

    job.batch *= (double)(1u << step);
    job.told.batch = (int)job.batch;
    job.memory_gb += 1e-3 * f->job.told.memory_mb_per_sample * job.batch;
    job.memory_gb *= f->footprint;
    add_quirks(&job, gpu_count, QUIRK_JOB, rng);
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

/* All families of a world.  Jobs of one family follow one another, batches rising.  The
 * caller frees *jobs. */
static int draw_jobs(const struct generate_options *options, const struct synth_gpu *gpus,
                     int gpu_count, struct synth_job **jobs, struct rng *rng)
{
    vec_of(struct synth_job) all = {0};
    int families = family_count(options, gpu_count, rng);

    for (int i = 0; i < families; i++) {
        struct family f;

        draw_family(&f, i, gpus, gpu_count, rng);
        for (int step = 0; step < f.batches; step++)
            vec_push(&all, at_batch(&f, step, gpu_count, rng));
    }
    *jobs = all.items;
    return (int)all.count;
}

/* ---- one job on one card: a roofline ----------------------------------------------- */

#define LAUNCH_S        6e-6 /* a kernel, on a common host */
#define BANDWIDTH_REACH 0.7  /* share of the sheet's bandwidth that programs get */

/* Data and weights pass a device while it computes: the longer of the two, and a part of
 * the shorter. */
static double device_time(double compute_s, double memory_s)
{
    return fmax(compute_s, memory_s) + 0.3 * fmin(compute_s, memory_s);
}

static double step_time(double host_s, double device_s, double overlap)
{
    return fmax(host_s, device_s) + (1 - overlap) * fmin(host_s, device_s);
}

/* A ring over the devices passes the gradients nearly twice. */
static double exchange_s(const struct synth_job *job, int scale, double gbs)
{
    return 2.0 * (scale - 1) / scale * job->gradient_gb / gbs;
}

/* One job on one card; scale > 1 adds the exchange of gradients.  Noise of the step's
 * time is an argument, so that all scales of a job share it. */
static struct synth_cell run_alone(const struct synth_job *job,
                                   const struct synth_gpu *gpu,
                                   const struct synth_world *world, int g, int scale,
                                   double noise)
{
    double filled = job->sms_per_sample * job->batch;
    double occupancy = fmax(filled / (filled + 4 * gpu->sms * world->fill), 0.02);
    double work = job->flop_per_sample * job->batch;
    double compute_s =
        work / (gpu->flops * job->efficiency * sqrt(fmax(occupancy, 0.05)));
    double memory_s = work / (BANDWIDTH_REACH * job->flop_per_byte * gpu->bytes_per_s);
    double launch_s = LAUNCH_S * job->kernels / gpu->host;
    double device_s = fmax(device_time(compute_s, memory_s), 0.6 * launch_s) *
                      exp((double)job->quirk_time[g]);
    double host_s = world->host_share *
                        (job->host_s + job->host_s_per_sample * job->batch) / gpu->host +
                    0.5 * launch_s;
    double near_s = host_s + exchange_s(job, scale, gpu->node_gbs);
    double far_s = host_s + exchange_s(job, scale, gpu->spread_gbs);

    return (struct synth_cell){
        .device_s = device_s,
        .host_s = near_s,
        .step_s = step_time(near_s, device_s, job->overlap) * noise,
        .spread_step_s = step_time(far_s, device_s, job->overlap) * noise,
        .occupancy = occupancy,
        .memory_share = memory_s / (compute_s + memory_s),
        .kernel_log_s = log(device_s / job->kernels),
        .overlap = job->overlap,
        .suffer = exp((double)job->quirk_suffer[g]),
        .hurt = exp((double)job->quirk_hurt[g]),
        .memory_gb = job->memory_gb,
    };
}

/* ---- two jobs on one card ----------------------------------------------------------
 *
 * Each job's device time grows by how much of the time the other is active, and the other
 * is active for longer when it is slowed itself: a damped iteration settles the two. */

#define ITERATIONS 14
#define SLOWEST    0.03 /* relative speed */

static double clip(double x, double low, double high)
{
    return x < low ? low : x > high ? high : x;
}

/* What does not change while the two settle, seen from one job. */
struct pair_view {
    double pressure; /* device time added per share of the time the other is active */
    double memory;   /* factor of waiting for memory together */
    double host_s;   /* stretched by waiting for the processors together */
};

static struct pair_view view_of(const struct synth_cell *own,
                                const struct synth_cell *other,
                                const struct synth_gpu *gpu)
{
    double weight =
        clip(exp(gpu->kernel_pull * (other->kernel_log_s - own->kernel_log_s)), 0.15, 4);
    double crowding = clip(own->occupancy + other->occupancy - gpu->free_share, 0.05, 1);

    return (struct pair_view){
        .pressure = weight * own->suffer * other->hurt * crowding,
        .memory = 1 + gpu->bandwidth_conflict * own->memory_share * other->memory_share,
        .host_s = own->host_s * (1 + gpu->host_conflict * (own->host_s / own->step_s) *
                                         (other->host_s / other->step_s)),
    };
}

/* Share of the time a job slowed to this relative speed keeps the device. */
static double activity(const struct synth_cell *c, double speed)
{
    double device_s = c->device_s / fmax(speed, 0.05);
    double rest_s = fmax(c->step_s - c->overlap * c->device_s, 0);

    return clip(fmax(device_s / (device_s + rest_s + 1e-9), c->device_s / c->step_s), 0,
                1);
}

static double next_speed(const struct synth_cell *own, const struct pair_view *view,
                         double other_activity)
{
    double device_s =
        own->device_s * (1 + other_activity * view->pressure) * view->memory;

    return clip(own->step_s / step_time(view->host_s, device_s, own->overlap), SLOWEST,
                1);
}

static void settle(const struct synth_cell *a, const struct synth_cell *b,
                   const struct synth_gpu *gpu, double speeds[2])
{
    struct pair_view of_a = view_of(a, b, gpu), of_b = view_of(b, a, gpu);
    double va = 1, vb = 1;

    for (int i = 0; i < ITERATIONS; i++) {
        double active_a = activity(a, va), active_b = activity(b, vb);

        va = 0.5 * va + 0.5 * next_speed(a, &of_a, active_b);
        vb = 0.5 * vb + 0.5 * next_speed(b, &of_b, active_a);
    }
    speeds[0] = va;
    speeds[1] = vb;
}

/* As a measured table would show it. */
static float measured(double speed, const struct synth_world *constants, struct rng *rng)
{
    double noise = constants->noise_sd * rng_normal(rng) + 0.03 * rng_normal(rng);

    return (float)fmin(1, speed * exp(noise));
}

/* Fill the relative speeds of all pairs on card g. */
static void run_beside(struct world *w, int g, const struct synth_cell *cells,
                       const struct synth_gpu *gpu, const struct synth_world *constants,
                       struct rng *rng)
{
    for (int a = 0; a < w->class_count; a++) {
        for (int b = a; b < w->class_count; b++) {
            bool fits = cells[a].memory_gb + cells[b].memory_gb <= gpu->memory_gb;
            float own = 0, other = 0;
            double speeds[2];

            if (rng_uniform(rng) < constants->missing) {
                own = other = NAN;
            } else if (fits) {
                settle(&cells[a], &cells[b], gpu, speeds);
                own = measured(speeds[0], constants, rng);
                other = a == b ? own : measured(speeds[1], constants, rng);
            }
            *world_beside(w, g, a, b) = own;
            *world_beside(w, g, b, a) = other;
        }
    }
}

/* ---- the world --------------------------------------------------------------------- */

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
    return (struct synth_world){
        .host_share = rng_log_range(rng, 0.03, 1.2),
        .fill = rng_range(rng, 0.5, 2),
        .noise_sd = rng_range(rng, 0.03, 0.1),
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

static void fill_class(struct world_class *c, const struct synth_job *job, int scale)
{
    snprintf(c->name, sizeof(c->name), "%s (batch size %d)", job->told.family,
             job->told.batch);
    c->scale = scale;
    c->descriptor = job->told;
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
        cells[c] = run_alone(job, gpu, constants, g, variants[c].scale, noise);
        fill_cell(w, g, c, &cells[c], job->memory_gb <= gpu->memory_gb, rng);
    }
    run_beside(w, g, cells, gpu, constants, rng);
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
    struct variant *variants;
    struct world *w;
    int count;

    draw_gpus(options, sheets, gpus, gpu_count, rng);
    count = draw_jobs(options, gpus, gpu_count, &jobs, rng);
    variants = mem_array(struct variant, (size_t)count * 4);
    w = world_create(gpu_count,
                     list_variants(variants, jobs, count, options->scales, rng));
    for (int g = 0; g < gpu_count; g++)
        w->gpus[g] = sheets[g];
    for (int c = 0; c < w->class_count; c++)
        fill_class(&w->classes[c], &jobs[variants[c].job], variants[c].scale);
    for (int g = 0; g < gpu_count; g++)
        fill_gpu(w, g, &gpus[g], &constants, jobs, variants, rng);
    free(gpus);
    free(sheets);
    free(jobs);
    free(variants);
    return w;
}
