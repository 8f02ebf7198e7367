/* fuzz_gpu_csv.c - a data sheet that is taken is one gpu_check takes */
#include "fuzz/fuzz.h"

#include "fixture/text_file.h"
#include "lab/tables/gpu_csv.h"
#include "lab/tables/world_check.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct gpu_sheet *sheets = NULL;
    size_t count = 0;
    struct err err = {0};

    if (gpu_csv_load(&sheets, &count, text_file_of("fuzz", data, size), &err) < 0)
        return 0;
    for (size_t i = 0; i < count; i++)
        if (gpu_check(&sheets[i], &err) < 0 || !gpu_named(&sheets[i], sheets[i].name))
            abort();
    free(sheets);
    return 0;
}
