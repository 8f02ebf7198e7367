/* fuzz_demand.c - a shape that is taken lies within 0.02 and 1 */
#include "fuzz/fuzz.h"

#include "fixture/text_file.h"
#include "lab/traces/trace_demand.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t minutes = 0;
    float *shape = NULL;
    struct err err = {0};

    if (trace_demand_load(&shape, &minutes, text_file_of("fuzz", data, size), &err) < 0) {
        if (shape || !err.text[0])
            abort();
        return 0;
    }
    if (minutes < 1)
        abort();
    for (size_t i = 0; i < minutes; i++)
        if (!(shape[i] >= 0.0199F) || !(shape[i] <= 1))
            abort();
    free(shape);
    return 0;
}
