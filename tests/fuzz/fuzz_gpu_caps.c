/* fuzz_gpu_caps.c - a state of power limits that is taken is written and read the same */
#include "fuzz/fuzz.h"

#include "gpu/gpu_caps.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct caps_state state;
    struct err err = {0};

    if (caps_state_parse(&state, (const char *)data, size, "fuzz", &err) < 0) {
        if (err.code == ERR_NONE || !err.text[0])
            abort();
        return 0;
    }
    if (state.count < 0 || state.count > GPU_MAX_DEVICES)
        abort();
    for (int i = 0; i < state.count; i++) {
        const struct caps_entry *e = &state.entries[i];

        if (!(e->original_watts >= 1) || !memchr(e->uuid, '\0', sizeof(e->uuid)) ||
            caps_state_find(&state, e->uuid) != e)
            abort();
    }
    return 0;
}
