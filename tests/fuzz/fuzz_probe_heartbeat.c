/* fuzz_probe_heartbeat.c - heartbeats and progress files come from the job: anything */
#include "fuzz/fuzz.h"

#include "probe/heartbeat.h"

#include <math.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct heartbeat b;
    struct match_hit hit;
    struct err err = {0};

    if (heartbeat_parse(&b, (const char *)data, size, &err) == 0 &&
        (!b.hit.unit || b.hit.rate < 0 || b.hit.count < 0 || isinf(b.hit.count) ||
         b.demand < 0 || b.service.latency_s < 0 || b.service.median_s < 0 ||
         b.service.busy < 0 || b.service.busy > 1 || b.service.held < 0))
        abort();
    if (progress_file_parse((const char *)data, size, &hit) && !hit.unit)
        abort();
    return 0;
}
