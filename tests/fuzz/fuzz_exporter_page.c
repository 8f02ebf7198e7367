/* fuzz_exporter_page.c - pages of exporters on nodes */
#include "fuzz/fuzz.h"

#include "engine/slurm/exporter_page.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct exporter_page page;

    exporter_page_init(&page);
    exporter_page_read(&page, (const char *)data, size);
    for (int i = 0; i < EXPORTER_MOST_GPUS; i++)
        if (page.gpu_watts[i] < 0 || page.gpu_joules[i] < 0)
            abort();
    return 0;
}
