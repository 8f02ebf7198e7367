/* fuzz_probe_heartbeat.c - heartbeats and progress files come from the job: anything */
#include "fuzz/fuzz.h"

#include "probe/heartbeat.h"

#include <math.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct heartbeat beat;
    struct match_hit hit;
    struct err err = {0};

    if (heartbeat_parse(&beat, (const char *)data, size, &err) == 0 &&
        (!beat.unit || beat.rate < 0 || beat.steps < 0 || isinf(beat.steps)))
        abort();
    if (progress_file_parse((const char *)data, size, &hit) && !hit.unit)
        abort();
    return 0;
}
