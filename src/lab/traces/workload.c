/* workload.c - requests drawn from a seed: scenario.c plays them where there is no
 * trace */
#include "lab/traces/workload.h"

#include "base/mem.h"
#include "base/rng.h"
#include "base/str.h"
#include "base/vec.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DAY_S           86400.0
#define WORK_CAP_S      DAY_S /* no job is longer than a day on the reference GPU */
#define SAMPLE_SIZE     4000  /* draws that find the mean work of a request */
#define STREAM_SAMPLE   1
#define STREAM_JOBS     2
#define STREAM_TIMES    3
#define STREAM_NEWCOMER 5
/* A service asks for this many times the latency of the reference GPU. */
#define LATENCY_KEY   500
#define LATENCY_LEAST 5.0
#define LATENCY_MOST  20.0
/* The days load is defined by, the first of them left out. */
#define LOAD_DAYS 5
/* Share of requests that are of the new family once it is there. */
#define NEWCOMER_SHARE 0.3

static bool runs_somewhere(const struct world *world, int cls)
{
    for (int g = 0; g < world->gpu_count; g++)
        if (*world_alone(world, g, cls) > 0)
            return true;
    return false;
}

/* The family that is kept back until `since_s`; "": none is. */
struct newcomer {
    char family[LOOP_NAME_SIZE];
    double since_s;
};

static bool is_newcomer(const struct newcomer *n, const struct world_class *c)
{
    return n->family[0] && !strcmp(n->family, c->descriptor.family);
}

static int draw_class(const struct world *world, double several_gpus,
                      const struct newcomer *newcomer, double at_s, struct rng *rng)
{
    bool several = rng_uniform(rng) < several_gpus;
    bool late = newcomer->family[0] && at_s >= newcomer->since_s;
    bool wanted = late && rng_uniform(rng) < NEWCOMER_SHARE;
    int last = 0;

    for (int tries = 0; tries < 10000; tries++) {
        int c = (int)rng_below(rng, (size_t)world->class_count);

        if (tries == 1000)
            several = false; /* the world has none of that kind */
        if ((world->classes[c].scale > 1) != several || !runs_somewhere(world, c))
            continue;
        last = c;
        if (is_newcomer(newcomer, &world->classes[c]) == wanted)
            return c;
    }
    return last;
}

static struct newcomer choose_newcomer(const struct workload_options *o,
                                       const struct world *world)
{
    struct newcomer n = {.since_s = o->days * DAY_S / 2};
    struct rng rng;

    if (!o->new_family)
        return n;
    rng_stream(&rng, o->seed, STREAM_NEWCOMER);
    str_copy(n.family, sizeof(n.family),
             world->classes[draw_class(world, 0, &n, 0, &rng)].descriptor.family);
    return n;
}

/* Most jobs take minutes to hours, a fifth take longer; capped at a day. */
static double draw_work_s(struct rng *rng)
{
    double exponent =
        rng_uniform(rng) < 0.8 ? rng_range(rng, 1.5, 3) : rng_range(rng, 3, 4);

    return fmin(60 * pow(10, exponent), WORK_CAP_S);
}

/* Answers are wanted some times later than they come from the reference GPU at the peak
 * of the demand: services of seconds ask for seconds, and slow cards are too slow for
 * some.
 */
static double draw_latency_s(const struct sim_request *r)
{
    double late_s = request_latency(r, r->reference_rate, r->peak_rate).late_s;
    struct rng rng;

    rng_init(&rng, rng_mix(r->hidden, LATENCY_KEY));
    return late_s * rng_log_range(&rng, LATENCY_LEAST, LATENCY_MOST);
}

static void draw_request(struct sim_request *r, const struct workload_options *o,
                         const struct world *world, int reference_gpu,
                         const struct newcomer *newcomer, double at_s, struct rng *rng)
{
    static const double shares[2][4] = {{0.15, 0.3, 0.5, 0.7}, {0.5, 0.6, 0.7, 0.9}};
    double share = shares[o->tight][rng_below(rng, 4)];
    double work_s = draw_work_s(rng);

    *r = (struct sim_request){0};
    r->job.kind = rng_uniform(rng) < o->inference ? JOB_INFERENCE : JOB_TRAINING;
    request_describe(r, world, draw_class(world, o->several_gpus, newcomer, at_s, rng),
                     reference_gpu, share);
    r->phase = rng_range(rng, 0, 2 * M_PI);
    r->hidden = rng_u64(rng);
    if (r->job.kind == JOB_TRAINING) {
        r->job.need.kind = NEED_RATE;
        r->steps = work_s * r->reference_rate;
    } else {
        r->job.need.kind = NEED_SERVICE;
        r->peak_rate = r->job.need.rate;
        r->serve_s = work_s;
        r->job.need.latency_s = draw_latency_s(r);
        r->max_replicas = r->job.devices == 1 ? o->max_replicas : 0;
    }
}

/* The integral from 0 to x of a line that rises to `top` and stays there. */
static double ramp(double x, double top)
{
    if (x <= 0)
        return 0;
    return x <= top ? x * x / 2 : top * top / 2 + top * (x - top);
}

/* Seconds of a job of this length that fall into the days load is defined by, for one
 * that arrives at any time of them or of the day before, as if they were all there is. */
static double seconds_in_window(double seconds)
{
    double all = LOAD_DAYS * DAY_S, warm = DAY_S, window = all - warm;
    double before = ramp(seconds, window) - ramp(seconds - warm, window);
    double within = seconds >= window ? window * window / 2
                                      : seconds * window - seconds * seconds / 2;

    return (before + within) / window;
}

/* Device-seconds a request takes when it runs alone on a device drawn at random. */
static double device_seconds(const struct sim_request *r, const struct world *world,
                             const int *type_devices)
{
    double sum = 0;
    int devices = 0;

    for (int g = 0; g < world->gpu_count; g++) {
        double rate = *world_alone(world, g, r->cls);

        if (!(rate > 0) || type_devices[g] == 0)
            continue;
        devices += type_devices[g];
        sum +=
            type_devices[g] *
            seconds_in_window(r->job.kind == JOB_TRAINING ? r->steps / rate : r->serve_s);
    }
    return devices ? r->job.devices * sum / devices : 0;
}

double workload_device_seconds(const struct sim_request *r, const struct world *world,
                               const struct cluster *cluster)
{
    int *devices = mem_array(int, (size_t)world->gpu_count);
    double seconds;

    for (int d = 0; d < cluster->device_count; d++) {
        int g = world_find_gpu(world, cluster->types[cluster->devices[d].type].name);

        if (g >= 0)
            devices[g]++;
    }
    seconds = device_seconds(r, world, devices);
    free(devices);
    return seconds;
}

static double mean_device_seconds(const struct workload_options *o,
                                  const struct world *world, const int *type_devices,
                                  int reference_gpu)
{
    const struct newcomer none = {0};
    struct rng rng;
    double sum = 0;

    rng_stream(&rng, o->seed, STREAM_SAMPLE);
    for (int i = 0; i < SAMPLE_SIZE; i++) {
        struct sim_request r;

        draw_request(&r, o, world, reference_gpu, &none, 0, &rng);
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
    const struct newcomer newcomer = choose_newcomer(o, world);
    vec_of(struct sim_request) list = {0};
    struct rng jobs, times;
    double devices = 0, mean_gap_s, at_s = 0;

    w->reference_gpu = request_reference_gpu(world);
    for (int g = 0; g < world->gpu_count; g++)
        devices += type_devices[g];
    mean_gap_s = mean_device_seconds(o, world, type_devices, w->reference_gpu) /
                 (devices * o->load);
    rng_stream(&jobs, o->seed, STREAM_JOBS);
    rng_stream(&times, o->seed, STREAM_TIMES);
    while (list.count < WORKLOAD_MAX_REQUESTS && (!o->limit || list.count < o->limit)) {
        struct sim_request r;

        at_s = next_arrival(o, at_s, mean_gap_s, &times);
        if (at_s > o->days * DAY_S)
            break;
        draw_request(&r, o, world, w->reference_gpu, &newcomer, at_s, &jobs);
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
    free(workload->shape);
    free(workload);
}
