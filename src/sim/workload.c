/* workload.c - see workload.h */
#include "sim/workload.h"

#include "base/mem.h"
#include "base/rng.h"
#include "base/str.h"
#include "base/vec.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define DAY_S         86400.0
#define WORK_CAP_S    DAY_S /* no job is longer than a day on the reference GPU */
#define SAMPLE_SIZE   4000  /* draws that find the mean work of a request */
#define STREAM_SAMPLE 1
#define STREAM_JOBS   2
#define STREAM_TIMES  3

int workload_reference_gpu(const struct world *world)
{
    int best = 0;
    double best_mean = -INFINITY;

    for (int g = 0; g < world->gpu_count; g++) {
        double sum = 0;
        int counted = 0;

        for (int c = 0; c < world->class_count; c++) {
            float rate = *world_alone(world, g, c);

            if (rate > 0) {
                sum += log(rate);
                counted++;
            }
        }
        if (counted && sum / counted > best_mean) {
            best_mean = sum / counted;
            best = g;
        }
    }
    return best;
}

void workload_describe(struct request *r, const struct world *world, int cls,
                       int reference_gpu, double share)
{
    const struct world_class *c = &world->classes[cls];
    double rate = 0;

    r->cls = cls;
    r->base = world_find_class(world, c->name, 1);
    str_copy(r->job.name, sizeof(r->job.name), c->name);
    r->job.descriptor = c->descriptor;
    r->job.memory_gb = 0; /* users seldom know it */
    r->job.devices = c->scale;
    r->job.may_share = r->job.may_move = true;
    rate = *world_alone(world, reference_gpu, cls);
    /* A class that does not run on the reference GPU is measured by the best that runs
     * it. */
    for (int g = 0; g < world->gpu_count && !(rate > 0); g++)
        rate = *world_alone(world, g, cls);
    r->reference_rate = rate;
    r->job.need.rate = share * rate;
}

static bool runs_somewhere(const struct world *world, int cls)
{
    for (int g = 0; g < world->gpu_count; g++)
        if (*world_alone(world, g, cls) > 0)
            return true;
    return false;
}

static int draw_class(const struct world *world, double several_gpus, struct rng *rng)
{
    bool several = rng_uniform(rng) < several_gpus;

    for (int tries = 0; tries < 10000; tries++) {
        int c = (int)rng_below(rng, (size_t)world->class_count);

        if ((world->classes[c].scale > 1) == several && runs_somewhere(world, c))
            return c;
        if (tries == 1000)
            several = false; /* the world has none of that kind */
    }
    return 0;
}

/* Most jobs take minutes to hours, a fifth take longer; capped at a day. */
static double draw_work_s(struct rng *rng)
{
    double exponent =
        rng_uniform(rng) < 0.8 ? rng_range(rng, 1.5, 3) : rng_range(rng, 3, 4);

    return fmin(60 * pow(10, exponent), WORK_CAP_S);
}

static void draw_request(struct request *r, const struct workload_options *o,
                         const struct world *world, int reference_gpu, struct rng *rng)
{
    static const double shares[] = {0.15, 0.3, 0.5, 0.7};
    double share = shares[rng_below(rng, 4)];
    double work_s = draw_work_s(rng);

    *r = (struct request){0};
    r->job.kind = rng_uniform(rng) < o->inference ? JOB_INFERENCE : JOB_TRAINING;
    workload_describe(r, world, draw_class(world, o->several_gpus, rng), reference_gpu,
                      share);
    r->phase = rng_range(rng, 0, 2 * M_PI);
    r->hidden = rng_u64(rng);
    if (r->job.kind == JOB_TRAINING) {
        r->job.need.kind = NEED_RATE;
        r->steps = r->job.total_steps = work_s * r->reference_rate;
    } else {
        r->job.need.kind = NEED_SERVICE;
        r->peak_rate = r->job.need.rate;
        r->job.duration_s = work_s;
    }
}

/* Device-seconds a request takes when it runs alone on a device drawn at random. */
static double device_seconds(const struct request *r, const struct world *world,
                             const int *type_devices)
{
    double sum = 0;
    int devices = 0;

    for (int g = 0; g < world->gpu_count; g++) {
        double rate = *world_alone(world, g, r->cls);

        if (!(rate > 0) || type_devices[g] == 0)
            continue;
        devices += type_devices[g];
        sum += type_devices[g] *
               (r->job.kind == JOB_TRAINING ? r->steps / rate : r->job.duration_s);
    }
    return devices ? r->job.devices * sum / devices : 0;
}

static double mean_device_seconds(const struct workload_options *o,
                                  const struct world *world, const int *type_devices,
                                  int reference_gpu)
{
    struct rng rng;
    double sum = 0;

    rng_stream(&rng, o->seed, STREAM_SAMPLE);
    for (int i = 0; i < SAMPLE_SIZE; i++) {
        struct request r;

        draw_request(&r, o, world, reference_gpu, &rng);
        sum += device_seconds(&r, world, type_devices);
    }
    return sum / SAMPLE_SIZE;
}

/* More by day than by night: three to one between the peak and the trough. */
static double day_factor(double at_s)
{
    return 1 + 0.5 * sin(2 * M_PI * at_s / DAY_S - M_PI / 2);
}

static double next_arrival(const struct workload_options *o, double now_s,
                           double mean_gap_s, struct rng *rng)
{
    /* Thinning: draw at the peak's rate and keep by the day's factor. */
    double peak = o->diurnal ? 1.5 : 1;

    for (;;) {
        now_s += rng_exponential(rng, mean_gap_s / peak);
        if (!o->diurnal || rng_uniform(rng) * peak < day_factor(now_s))
            return now_s;
    }
}

struct workload *workload_generate(const struct workload_options *o,
                                   const struct world *world, const int *type_devices)
{
    struct workload *w = mem_new(struct workload);
    vec_of(struct request) list = {0};
    struct rng jobs, times;
    double devices = 0, mean_gap_s, at_s = 0;

    w->reference_gpu = workload_reference_gpu(world);
    for (int g = 0; g < world->gpu_count; g++)
        devices += type_devices[g];
    mean_gap_s = mean_device_seconds(o, world, type_devices, w->reference_gpu) /
                 (devices * o->load);
    rng_stream(&jobs, o->seed, STREAM_JOBS);
    rng_stream(&times, o->seed, STREAM_TIMES);
    while (list.count < WORKLOAD_MAX_REQUESTS && (!o->limit || list.count < o->limit)) {
        struct request r;

        at_s = next_arrival(o, at_s, mean_gap_s, &times);
        if (at_s > o->days * DAY_S)
            break;
        draw_request(&r, o, world, w->reference_gpu, &jobs);
        r.job.id = list.count + 1;
        r.job.submitted_s = at_s;
        vec_push(&list, r);
        w->last_arrival_s = at_s;
    }
    w->requests = list.items;
    w->count = list.count;
    return w;
}

void workload_destroy(struct workload *workload)
{
    if (!workload)
        return;
    free(workload->requests);
    free(workload);
}

double workload_demand(const struct request *r, double at_s)
{
    double day = 0.65 + 0.35 * sin(2 * M_PI * at_s / DAY_S + r->phase);
    double beat = 1 + 0.15 * sin(2 * M_PI * at_s / 5400 + 3 * r->phase);

    return r->peak_rate * fmin(1, fmax(0.02, day * beat));
}
