/* generate.h - the synthetic world Corgi ships
 *
 * A roofline model of each job on each GPU, host time and launch overhead, interference
 * between two jobs on one GPU by a damped iteration, utilisation and memory.  Networks
 * are pre-trained on worlds drawn here, and `corgi sim` runs on one by default. */
#pragma once

#include "base/rng.h"
#include "world/world.h"

struct generate_options {
    int gpu_count;                /* types, 0: 3, at most WORLD_MAX_GPUS */
    const struct gpu_sheet *gpus; /* (gpu_count) fixed types; NULL: `draw` fills them */
    void (*draw)(struct gpu_sheet *sheets, int count, struct rng *rng);
    double sheet_jitter; /* log sd put on the true P and bandwidth of given sheets */
    int family_min, family_max; /* 0, 0: 4 to 10; cut to what a world may hold */
    double missing; /* share of pairs left NaN; measured tables have some (0.04) */
    bool scales;    /* two thirds of the families also on 2, 4 and 8 devices */
};

/* Never fails: what is drawn is valid by construction (tests ask world_check). */
struct world *world_generate(const struct generate_options *options, struct rng *rng);
