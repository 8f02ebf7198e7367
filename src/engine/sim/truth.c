/* truth.c - what a request is in the simulated world, and how it runs there
 *
 * Generators and readers of workloads, and the simulated engine, fill and ask requests;
 * the engine, the oracle and the checks ask how they run together. */
#include "engine/sim/truth.h"

#include "base/rng.h"
#include "base/str.h"
#include "engine/sim/truth_power.h"
#include "model/queueing.h"
#include "world/power.h"

#include <assert.h>
#include <math.h>

#define DAY_S          86400.0
#define DRIFT_PERIOD_S (4 * DAY_S)

/* So many services batch, so many requests at once; the last of a hundred answers takes
 * so much longer than most. */
#define BATCHING_PERCENT 40
#define BATCHING_KEY     300
#define BATCH_LEAST      8
#define BATCH_MOST       48
#define BATCH_SPREAD     1.4
#define BATCH_MOST_S     20.0 /* who takes longer for a request batches no more */

int request_reference_gpu(const struct world *world)
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

void request_describe(struct sim_request *r, const struct world *world, int cls,
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

static double stepped(const struct sim_request *r, double at_s)
{
    double rate = 0;

    for (int i = 0; i < r->demand_steps; i++)
        if (at_s - r->job.submitted_s >= r->demand[i].after_s)
            rate = r->demand[i].rate;
    return rate;
}

static double waved(const struct sim_request *r, double at_s)
{
    double day = 0.65 + 0.35 * sin(2 * M_PI * at_s / DAY_S + r->phase);
    double beat =
        r->shape ? r->shape[((size_t)(at_s / 60) + r->shape_offset) % r->shape_minutes]
                 : 1 + 0.15 * sin(2 * M_PI * at_s / 5400 + 3 * r->phase);

    return r->peak_rate * fmin(1, fmax(0.02, day * beat));
}

double request_demand(const struct sim_request *r, double at_s)
{
    return r->demand_steps > 0 ? stepped(r, at_s) : waved(r, at_s);
}

bool request_batches(const struct sim_request *r)
{
    return r->job.kind == JOB_INFERENCE &&
           rng_mix(r->hidden, BATCHING_KEY) % 100 < BATCHING_PERCENT;
}

/* Random arrivals, even service times: see queueing.c.  In a batch each request takes as
 * long as many do one after the other. */
struct request_latency request_latency(const struct sim_request *r, double capacity,
                                       double load)
{
    double busy = load / capacity, devices = r->job.devices > 1 ? r->job.devices : 1;
    double service_s = devices / capacity, spread = 1, wait_s, median_wait_s = 0;
    struct request_latency out = {INFINITY, INFINITY, INFINITY};

    if (!(busy < 1))
        return out;
    if (request_batches(r)) {
        spread = BATCH_SPREAD;
        service_s = fmin(
            service_s * (BATCH_LEAST + (double)(rng_mix(r->hidden, BATCHING_KEY + 1) %
                                                (BATCH_MOST - BATCH_LEAST + 1))),
            fmax(service_s, BATCH_MOST_S));
    }
    wait_s = queueing_latency_s(capacity, 1, load) - 1 / capacity;
    if (busy > 0.5)
        median_wait_s = log(2 * busy) / (2 * (1 - busy)) / capacity;
    out.median_s = service_s + median_wait_s;
    out.late_s = spread * service_s + wait_s;
    out.held = load * (service_s + busy / (2 * (1 - busy)) / capacity);
    return out;
}

/* A standard normal that depends on its keys alone, so that a factor is the same whenever
 * and however often it is asked for. */
static double fixed_normal(uint64_t a, uint64_t b)
{
    struct rng rng;

    rng_init(&rng, rng_mix(a, b));
    return rng_normal(&rng);
}

/* Drivers, cooling, data: every class on every type has a slow wave of its own. */
static double drifted(const struct truth *t, int cls, int gpu)
{
    struct rng rng;
    double phase;

    rng_init(&rng, rng_mix((uint64_t)cls, (uint64_t)gpu + 200));
    phase = rng_range(&rng, 0, 2 * M_PI);
    return exp(t->drift *
               (sin(2 * M_PI * t->drift_at_s / DRIFT_PERIOD_S + phase) - sin(phase)));
}

static int gpu_of(const struct truth *t, int type)
{
    return t->gpu_of_type ? t->gpu_of_type[type] : type;
}

double truth_alone(const struct truth *t, const struct sim_request *r, int type,
                   int nodes)
{
    int gpu = gpu_of(t, type);
    double rate = nodes > 1 ? *world_spread(t->world, gpu, r->cls)
                            : *world_alone(t->world, gpu, r->cls);

    if (!(rate > 0))
        return 0;
    rate *= exp(t->alone_sd * fixed_normal(r->hidden, (uint64_t)gpu));
    return t->drift > 0 ? rate * drifted(t, r->cls, gpu) : rate;
}

/* Their communication gets in each other's way: from not at all to twice as much as is
 * usual. */
static double gangs_together(const struct truth *t, const struct sim_request *r,
                             const struct sim_request *other)
{
    struct rng rng;

    rng_init(&rng, rng_mix(r->hidden, other->hidden));
    return pow(t->gang_interference, rng_range(&rng, 0, 2));
}

/* Relative speed of one request beside another at full load, in (0, 1]; 0: does not run.
 */
static double relative(const struct truth *t, const struct sim_request *r,
                       const struct sim_request *other, int type)
{
    int gpu = gpu_of(t, type);
    double speed;

    if (r->base < 0 || other->base < 0)
        return 0;
    speed = *world_beside(t->world, gpu, r->base, other->base);
    if (!(speed > 0)) /* also NaN: nobody measured it, so nobody may rely on it */
        return 0;
    speed *= exp(t->beside_sd * fixed_normal(r->hidden, rng_mix((uint64_t)other->base,
                                                                (uint64_t)gpu + 100)));
    if (t->gang_interference > 0 && r->job.devices > 1 && other->job.devices > 1)
        speed *= gangs_together(t, r, other);
    return fmin(1, speed);
}

static double load_of(const struct truth_member *m, double rate)
{
    return m->demand > 0 ? fmin(1, m->demand / fmax(rate, 1e-12)) : 1;
}

/* A neighbour that is idle part of the time slows the others less. */
static bool speeds_together(const struct truth *t, int type,
                            const struct truth_member *members, int count,
                            const double *alone, double *speed)
{
    double full[LOOP_MAX_SHARE][LOOP_MAX_SHARE], load[LOOP_MAX_SHARE];

    for (int i = 0; i < count; i++) {
        double together = 1;

        for (int k = 0; k < count; k++) {
            full[i][k] =
                i == k ? 1 : relative(t, members[i].request, members[k].request, type);
            if (!(full[i][k] > 0))
                return false;
            together *= full[i][k];
        }
        load[i] = load_of(&members[i], alone[i] * together);
    }
    for (int i = 0; i < count; i++) {
        speed[i] = 1;
        for (int k = 0; k < count; k++)
            speed[i] *= 1 - (1 - full[i][k]) * load[k];
    }
    return true;
}

/* By the loop's own formula. */
static void limit_by_model(const struct truth *t, int type, double cap_watts,
                           const struct truth_member *members, int count,
                           const double *speed, struct truth_outcome *out)
{
    const struct gpu_sheet *gpu = &t->world->gpus[gpu_of(t, type)];
    struct power_capped capped;
    double busy = 0;

    for (int i = 0; i < count; i++)
        busy += *world_busy(t->world, gpu_of(t, type), members[i].request->cls) *
                speed[i] * load_of(&members[i], out->rate[i]);
    capped = power_under_cap(gpu, fmin(1, busy), cap_watts);
    out->watts = capped.watts;
    if (t->cap_steepness > 0)
        capped.speed = pow(capped.speed, t->cap_steepness);
    for (int i = 0; i < count; i++)
        out->rate[i] *= capped.speed;
}

/* A limit slows a service, which is then busier, draws more without a limit and meets it
 * sooner: so often it is looked at again. */
#define LIMIT_PASSES 4

static void limit_as_drawn(const struct truth *t, int type, double cap_watts,
                           const struct truth_member *members, int count,
                           const double *alone, struct truth_outcome *out)
{
    const struct gpu_sheet *gpu = &t->world->gpus[gpu_of(t, type)];
    struct truth_draw draws[LOOP_MAX_SHARE];
    double left[LOOP_MAX_SHARE], capped[LOOP_MAX_SHARE], speed[LOOP_MAX_SHARE];
    int passes = cap_watts > 0 ? LIMIT_PASSES : 1;

    for (int i = 0; i < count; i++) {
        const struct sim_request *r = members[i].request;
        int cls = r->base >= 0 ? r->base : r->cls;

        draws[i] = (struct truth_draw){
            .watts =
                power_draw_watts(gpu, *world_busy(t->world, gpu_of(t, type), r->cls)),
            .flat = r->job.kind == JOB_INFERENCE
                        ? truth_power_flat(r->hidden, request_batches(r))
                        : 0,
            .key = rng_mix((uint64_t)cls, (uint64_t)gpu_of(t, type))};
        left[i] = speed[i] = 1;
    }
    for (int pass = 0; pass < passes; pass++) {
        for (int i = 0; i < count; i++)
            capped[i] = alone[i] * left[i];
        if (count > 1 && !t->beside_free)
            speeds_together(t, type, members, count, capped, speed);
        for (int i = 0; i < count; i++) {
            out->rate[i] = capped[i] * speed[i];
            draws[i].active = speed[i] * load_of(&members[i], out->rate[i]);
        }
        out->watts = truth_power_limited(gpu, draws, count, cap_watts, left);
        for (int i = 0; i < count && t->cap_steepness > 0; i++)
            left[i] = pow(left[i], t->cap_steepness);
    }
    for (int i = 0; i < count; i++)
        out->rate[i] = alone[i] * left[i] * speed[i];
}

void truth_outcome(const struct truth *t, int type, double cap_watts,
                   const struct truth_member *members, int count,
                   struct truth_outcome *out)
{
    double alone[LOOP_MAX_SHARE], speed[LOOP_MAX_SHARE];

    assert(count >= 0 && count <= LOOP_MAX_SHARE);
    *out = (struct truth_outcome){.fits = true,
                                  .watts = t->world->gpus[gpu_of(t, type)].idle_watts};
    for (int i = 0; i < count; i++) {
        alone[i] = truth_alone(t, members[i].request, type, members[i].nodes);
        speed[i] = 1;
        out->fits = out->fits && alone[i] > 0;
    }
    if (!out->fits || count == 0)
        return;
    if (count > 1 && !t->beside_free &&
        !speeds_together(t, type, members, count, alone, speed)) {
        out->fits = false;
        return;
    }
    if (t->drawn_power) {
        limit_as_drawn(t, type, cap_watts, members, count, alone, out);
        return;
    }
    for (int i = 0; i < count; i++)
        out->rate[i] = alone[i] * speed[i];
    limit_by_model(t, type, cap_watts, members, count, speed, out);
}
