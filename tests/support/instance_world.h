/* instance_world.h - a small made-up world for tests of the solver
 *
 * Rates by a roofline of compute and bandwidth, sharing by how much of the device both
 * want: enough for tests, no claim beyond that. */
#pragma once

#include "base/rng.h"
#include "world/world.h"

#include <math.h>
#include <stdio.h>

#define INSTANCE_CLASSES 26

static const char *const cards[] = {"k80", "p100-16", "v100-16",   "t4",
                                    "a40", "a100-40", "rtx2080ti", "a100-80"};

static inline void instance_draw_class(struct world *w, int k, struct rng *rng)
{
    double gflop = rng_log_range(rng, 1, 200), gbyte = gflop * rng_range(rng, 0.01, 0.1);
    double busy = rng_range(rng, 0.3, 0.95);

    snprintf(w->classes[k].name, WORLD_NAME_SIZE, "made-up %d", k);
    w->classes[k].scale = 1;
    for (int g = 0; g < w->gpu_count; g++) {
        const struct gpu_sheet *gpu = &w->gpus[g];
        double step_s =
            fmax(gflop / gpu->fp32_tflops / 1000, gbyte / gpu->bandwidth_gbs) *
            rng_range(rng, 0.9, 1.1);

        *world_alone(w, g, k) = *world_spread(w, g, k) = (float)(busy / step_s);
        *world_busy(w, g, k) = (float)fmin(0.98, busy * rng_range(rng, 0.9, 1.1));
    }
}

static inline struct world *instance_world(int gpu_count, uint64_t seed)
{
    struct world *w = world_create(gpu_count, INSTANCE_CLASSES);
    struct rng rng;

    rng_init(&rng, seed);
    for (int g = 0; g < gpu_count; g++)
        w->gpus[g] = *gpu_find(cards[g % 8]);
    for (int k = 0; k < INSTANCE_CLASSES; k++)
        instance_draw_class(w, k, &rng);
    for (int g = 0; g < gpu_count; g++)
        for (int k = 0; k < INSTANCE_CLASSES; k++)
            for (int l = 0; l < INSTANCE_CLASSES; l++) {
                double both = (double)*world_busy(w, g, k) + (double)*world_busy(w, g, l);

                *world_beside(w, g, k, l) =
                    (float)fmin(1, rng_range(&rng, 0.85, 1) /
                                       fmax(1, both * rng_range(&rng, 0.9, 1)));
            }
    return w;
}
