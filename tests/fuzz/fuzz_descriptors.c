/* fuzz_descriptors.c - whatever is told of families, the world stays one world_check
 * takes
 */
#include "fuzz/fuzz.h"

#include "fixture/text_file.h"
#include "lab/tables/descriptors.h"
#include "lab/tables/world_check.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct world *world = world_create(1, 1);
    struct err err = {0};

    world->gpus[0] = *gpu_find("v100");
    snprintf(world->classes[0].name, sizeof(world->classes[0].name), "A");
    snprintf(world->classes[0].descriptor.family, DESCRIPTOR_FAMILY_SIZE, "A");
    world->classes[0].scale = 1;
    descriptors_load(world, text_file_of("fuzz", data, size), &err);
    if (world_check(world, &err) < 0)
        abort();
    world_destroy(world);
    return 0;
}
