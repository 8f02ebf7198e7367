/* fuzz_world_csv.c - a table that is taken is one world_check takes */
#include "fuzz/fuzz.h"

#include "fixture/text_file.h"
#include "lab/tables/world_csv.h"
#include "lab/tables/world_check.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct world *world = NULL;
    struct err err = {0};

    if (world_csv_load(&world, text_file_of("fuzz", data, size), NULL, 1, &err) < 0) {
        if (world || !err.text[0])
            abort();
        return 0;
    }
    if (world_check(world, &err) < 0)
        abort();
    world_destroy(world);
    return 0;
}
