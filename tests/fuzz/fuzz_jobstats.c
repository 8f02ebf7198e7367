/* fuzz_jobstats.c - comments of jobs: what is taken is within its bounds */
#include "fuzz/fuzz.h"

#include "base/gzip.h"
#include "base/str.h"
#include "probe/jobstats.h"

#include <math.h>
#include <stdlib.h>

static void check_stats(const struct jobstats *s)
{
    if (s->gpus < 0 || s->gpus > JOBSTATS_MAX_GPUS || s->unused_gpus > s->gpus ||
        s->gpu_use < 0 || s->gpu_use > 1 || s->gpu_gb < 0 || s->seconds < 0 ||
        isinf(s->seconds) || (s->gpus > 0 && isnan(s->gpu_use)))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum jobstats_kind kind = JOBSTATS_ABSENT;
    struct str text = {0}, unpacked = {0};
    struct jobstats stats = {0};
    struct err err = {0};

    if (gzip_unpack(data, size, 5000, &unpacked, &err) == 0 && unpacked.length > 5000)
        abort();
    str_add_bytes(&text, (const char *)data, size);
    if (jobstats_read(str_text(&text), &kind, &stats, &err) == 0) {
        if (kind == JOBSTATS_KNOWN)
            check_stats(&stats);
    } else if (!err.text[0] || kind != JOBSTATS_ABSENT) {
        abort();
    }
    str_fini(&text);
    str_fini(&unpacked);
    return 0;
}
