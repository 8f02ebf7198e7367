/* fuzz_probe_heartbeat.c - heartbeats and progress files come from the job: anything */
#include "fuzz/fuzz.h"

#include "probe/heartbeat.h"

#include <math.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct match_hit hit;
    struct err err = {0};
    double demand;

    if (heartbeat_parse(&hit, &demand, (const char *)data, size, &err) == 0 &&
        (!hit.unit || hit.rate < 0 || hit.count < 0 || isinf(hit.count) || demand < 0))
        abort();
    if (progress_file_parse((const char *)data, size, &hit) && !hit.unit)
        abort();
    return 0;
}
