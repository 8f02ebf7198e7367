/* synth_pair.c - two jobs on one card, see synth_private.h
 *
 * Each job's device time grows by how much of the time the other is active, and the other
 * is active for longer when it is slowed itself: a damped iteration settles the two. */
#include "world/synth_private.h"

#include <math.h>

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
    double step_s =
        fmax(view->host_s, device_s) + (1 - own->overlap) * fmin(view->host_s, device_s);

    return clip(own->step_s / step_s, SLOWEST, 1);
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

void synth_interfere(struct world *w, int g, const struct synth_cell *cells,
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
