/* fuzz_sim_journal.c - the simulated world's memory as a crash, or a disk, left it: the
 * world goes on for an hour, with the jobs the journal named */
#include "fuzz/fuzz.h"
#include "fuzz/fuzz_folder.h"

#include "base/log.h"
#include "engine/sim/sim_engine.h"
#include "world/gpu_sheet.h"

#include <math.h>

static void hear(void *ctx, const struct engine_event *event)
{
    (void)ctx;
    if (event->kind == ENGINE_ENDED && event->text && event->text[0] == '\x7f')
        abort(); /* never: it reads the text */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sim_engine_options options = sim_engine_defaults();
    static struct world *world; /* made once: it takes long */
    struct engine engine;
    struct err err = {0};
    double now_s;

    if (!world) {
        const struct gpu_sheet types[] = {*gpu_find("k80"), *gpu_find("p100"),
                                          *gpu_find("v100")};

        world = sim_engine_world(types, 3, 1, 1);
    }
    options.world = world;

    options.journal = fuzz_file("journal", data, size);
    options.clock = SIM_CLOCK_STEPPED;
    options.start_s = 1000;
    if (sim_engine_create(&engine, &options, (struct engine_sink){.event = hear}, &err) <
        0) {
        if (!err.text[0])
            abort();
        return 0;
    }
    now_s = sim_engine_now_s(&engine);
    if (!isfinite(now_s))
        abort();
    engine.ops->adopted(engine.self);
    engine.ops->dispatch(engine.self, now_s + 3600);
    engine.ops->destroy(engine.self);
    return 0;
}
