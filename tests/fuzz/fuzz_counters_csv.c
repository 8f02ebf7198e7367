/* fuzz_counters_csv.c - whatever is told of counters, each is a share or not known */
#include "fuzz/fuzz.h"

#include "fixture/text_file.h"
#include "lab/tables/counters_csv.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct world *world = world_create(1, 1);
    struct job_counters counters;
    struct err err = {0};

    world->gpus[0] = *gpu_find("v100");
    snprintf(world->classes[0].name, sizeof(world->classes[0].name), "A");
    if (counters_csv_load(world, text_file_of("fuzz", data, size), &counters, &err) == 0)
        for (int c = 0; c < JOB_COUNTERS; c++)
            if (!isnan(counters.of[c]) && !(counters.of[c] >= 0 && counters.of[c] <= 1))
                abort();
    world_destroy(world);
    return 0;
}
