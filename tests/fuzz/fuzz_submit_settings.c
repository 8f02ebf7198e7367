/* fuzz_submit_settings.c - slurm-plugin.conf */
#include "fuzz/fuzz.h"

#include "job_submit_corgi/submit_settings.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct submit_settings settings;
    struct err err = {0};

    if (submit_settings_parse(&settings, (const char *)data, size, "conf", &err) < 0) {
        if (strncmp(err.text, "conf line ", 10) != 0)
            abort();
    } else if (strlen(settings.partitions) >= sizeof(settings.partitions) ||
               (*settings.probe && *settings.probe != '/')) {
        abort();
    }
    return 0;
}
