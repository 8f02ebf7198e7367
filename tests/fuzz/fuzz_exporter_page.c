/* fuzz_exporter_page.c - pages of exporters: what is taken is within its bounds */
#include "fuzz/fuzz.h"

#include "engine/slurm/exporter_page.h"

#include <math.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct exporter_page page;

    exporter_page_init(&page);
    exporter_page_read(&page, (const char *)data, size);
    for (int g = 0; g < EXPORTER_MOST_GPUS; g++)
        if (page.gpu_watts[g] < 0 || page.gpu_watts[g] > 1e5 || page.gpu_joules[g] < 0)
            abort();
    if (page.host_joules < 0)
        abort();
    return 0;
}
