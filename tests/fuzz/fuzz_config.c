/* fuzz_config.c - the daemon's config: refused with a sentence, or within its limits */
#include "fuzz/fuzz.h"

#include "service/service_config.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct service_config config = {0};
    struct err err = {0};

    if (config_parse(service_config_keys, &config, sizeof(config), "fuzz",
                     (const char *)data, size, &err) < 0) {
        if (!err.text[0])
            abort();
        return 0;
    }
    if (config.limits.body_kb < 1 || config.limits.connections < 1 ||
        !(config.planner.gap_s > 0) || !(config.sim.speed > 0))
        abort();
    service_config_fini(&config);
    return 0;
}
