/* fuzz_trace.c - a trace that is taken can be played: known classes, in order, finite */
#include "fuzz/fuzz.h"

#include "fixture/text_file.h"
#include "lab/traces/trace.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct world *small_world(void)
{
    struct world *w = world_create(1, 2);

    w->gpus[0] = *gpu_find("v100");
    strcpy(w->classes[0].name, "light");
    strcpy(w->classes[1].name, "light");
    w->classes[0].scale = 1;
    w->classes[1].scale = 2;
    for (int c = 0; c < 2; c++)
        *world_alone(w, 0, c) = *world_spread(w, 0, c) = 10;
    return w;
}

static bool is_sane(const struct sim_request *r, const struct world *world)
{
    return r->cls < world->class_count && r->base >= 0 && isfinite(r->steps) &&
           r->steps > 0 && isfinite(r->job.submitted_s) && r->job.submitted_s >= 0 &&
           r->job.devices >= 1 && r->job.devices <= LOOP_MAX_GANG &&
           isfinite(r->job.need.rate) && isfinite(r->job.need.deadline_s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct world *world = small_world();
    struct workload *w = NULL;
    struct err err = {0};

    if (trace_load(&w, text_file_of("fuzz", data, size), world, 1, &err) < 0) {
        if (w || !err.text[0])
            abort();
        world_destroy(world);
        return 0;
    }
    for (size_t i = 0; i < w->count; i++)
        if (!is_sane(&w->requests[i], world) || w->requests[i].job.id != i + 1 ||
            (i > 0 &&
             w->requests[i].job.submitted_s < w->requests[i - 1].job.submitted_s))
            abort();
    workload_destroy(w);
    world_destroy(world);
    return 0;
}
