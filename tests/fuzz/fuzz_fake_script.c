/* fuzz_fake_script.c - the fake's script is taken within its limits or refused by line */
#include "fuzz/fuzz.h"

/* The fake is a library of its own that links nothing of ours; its parser is small. */
#include "fake/script.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct fake_script script;
    char why[80] = "";
    int line = fake_script_parse(&script, (const char *)data, size, why, sizeof(why));

    if (line < 0 || (line > 0 && !why[0]))
        abort();
    if (line == 0 && (script.count > FAKE_MAX_GPUS || !strstr(script.driver, "fake")))
        abort();
    for (int i = 0; i < script.count; i++) {
        const struct fake_gpu *gpu = &script.gpus[i];

        if (gpu->event_count > FAKE_MAX_EVENTS || gpu->mig < 0 || gpu->mig > FAKE_MAX_MIG)
            abort();
        if (!isfinite(fake_script_value(gpu, FAKE_POWER, 10, 1)))
            abort();
    }
    return 0;
}
