/* world.c - tables of the truth, see world.h */
#include "world/world.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct world *world_create(int gpu_count, int class_count)
{
    struct world *w = mem_new(struct world);
    size_t cells = (size_t)gpu_count * (size_t)class_count;

    w->gpu_count = gpu_count;
    w->class_count = class_count;
    w->gpus = mem_array(struct gpu_sheet, (size_t)gpu_count);
    w->classes = mem_array(struct world_class, (size_t)class_count);
    w->alone = mem_array(float, cells);
    w->spread = mem_array(float, cells);
    w->beside = mem_array(float, cells *(size_t)class_count);
    w->busy = mem_array(float, cells);
    w->watts = mem_array(float, cells);
    for (size_t i = 0; i < cells; i++)
        w->watts[i] = NAN;
    return w;
}

void world_destroy(struct world *w)
{
    if (!w)
        return;
    free(w->gpus);
    free(w->classes);
    free(w->alone);
    free(w->spread);
    free(w->beside);
    free(w->busy);
    free(w->watts);
    free(w);
}

int world_find_class(const struct world *w, const char *name, int scale)
{
    for (int c = 0; c < w->class_count; c++)
        if (w->classes[c].scale == scale && !strcmp(w->classes[c].name, name))
            return c;
    return -1;
}

int world_find_gpu(const struct world *w, const char *name)
{
    /* A world may hold both "v100-16" and a card of its own named "v100": the exact name
     * goes first. */
    for (int g = 0; g < w->gpu_count; g++)
        if (!strcasecmp(w->gpus[g].name, name))
            return g;
    for (int g = 0; g < w->gpu_count; g++)
        if (gpu_named(&w->gpus[g], name))
            return g;
    return -1;
}
