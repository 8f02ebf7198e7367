/* truth.c - see truth.h */
#include "engine/sim/truth.h"

#include "base/rng.h"
#include "world/power.h"

#include <assert.h>
#include <math.h>

#define DRIFT_PERIOD_S (4 * 86400.0)

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

double truth_alone(const struct truth *t, const struct sim_request *r, int type,
                   int nodes)
{
    int gpu = t->gpu_of_type[type];
    double rate = nodes > 1 ? *world_spread(t->world, gpu, r->cls)
                            : *world_alone(t->world, gpu, r->cls);

    if (!(rate > 0))
        return 0;
    rate *= exp(t->alone_sd * fixed_normal(r->hidden, (uint64_t)gpu));
    return t->drift > 0 ? rate * drifted(t, r->cls, gpu) : rate;
}

/* Relative speed of one request beside another at full load, in (0, 1]; 0: does not run.
 */
static double relative(const struct truth *t, const struct sim_request *r,
                       const struct sim_request *other, int type)
{
    int gpu = t->gpu_of_type[type];
    double speed;

    if (r->base < 0 || other->base < 0)
        return 0;
    speed = *world_beside(t->world, gpu, r->base, other->base);
    if (!(speed > 0)) /* also NaN: nobody measured it, so nobody may rely on it */
        return 0;
    speed *= exp(t->beside_sd * fixed_normal(r->hidden, rng_mix((uint64_t)other->base,
                                                                (uint64_t)gpu + 100)));
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

void truth_outcome(const struct truth *t, int type, double cap_watts,
                   const struct truth_member *members, int count,
                   struct truth_outcome *out)
{
    const struct gpu_sheet *gpu = &t->world->gpus[t->gpu_of_type[type]];
    double alone[LOOP_MAX_SHARE], speed[LOOP_MAX_SHARE] = {1}, busy = 0;
    struct power_capped capped;

    assert(count >= 0 && count <= LOOP_MAX_SHARE);
    *out = (struct truth_outcome){.fits = true, .watts = gpu->idle_watts};
    for (int i = 0; i < count; i++) {
        alone[i] = truth_alone(t, members[i].request, type, members[i].nodes);
        out->fits = out->fits && alone[i] > 0;
    }
    if (!out->fits || count == 0)
        return;
    if (count > 1 && !speeds_together(t, type, members, count, alone, speed)) {
        out->fits = false;
        return;
    }
    for (int i = 0; i < count; i++) {
        out->rate[i] = alone[i] * speed[i];
        busy += *world_busy(t->world, t->gpu_of_type[type], members[i].request->cls) *
                speed[i] * load_of(&members[i], out->rate[i]);
    }
    capped = power_under_cap(gpu, fmin(1, busy), cap_watts);
    out->watts = capped.watts;
    for (int i = 0; i < count; i++)
        out->rate[i] *= capped.speed;
}
