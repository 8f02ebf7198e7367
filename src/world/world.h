/* world.h - how jobs really run: the truth a simulation is played on
 *
 * Tables over GPU types and job classes: rates alone and beside one another, utilisation,
 * memory.  They come from the synthetic world (generate.h) or from measured tables
 * (gavel_table.h, world_csv.h).  The simulator reads them; the loop never does, save in
 * policies called oracle. */
#pragma once

#include "base/err.h"
#include "world/descriptor.h"
#include "world/gpu_sheet.h"

#define WORLD_MAX_GPUS    64
#define WORLD_MAX_CLASSES 4096
#define WORLD_NAME_SIZE   80

/* gpus x classes x classes; readers refuse more, as memory would not suffice. */
#define WORLD_MAX_PAIRS ((size_t)1 << 26)

/* A kind of job: a model at one batch size on a number of devices. */
struct world_class {
    char name[WORLD_NAME_SIZE]; /* "ResNet-18 (batch size 32)" */
    int scale;                  /* devices, 1 or more */
    struct job_descriptor descriptor;
    double memory_gb; /* footprint on each device; 0: unknown */
};

struct world {
    int gpu_count;
    struct gpu_sheet *gpus; /* (gpus) */
    int class_count;
    struct world_class *classes; /* (classes) */
    float *
        alone; /* (gpus, classes) steps/s of the whole job on one node; 0: does not run */
    float
        *spread; /* (gpus, classes) the same spread over nodes; equals alone at scale 1 */
    float *beside; /* (gpus, classes, classes) relative speed of the first beside the
                      second, in (0, 1]; 0: the pair does not run; NaN: not known */
    float *busy;   /* (gpus, classes) share of the device in use, 0..1, see power.h */
    float *watts;  /* (gpus, classes) measured draw alone; NaN: not measured */
};

/* All tables allocated and zeroed, watts NaN; the caller fills them. */
struct world *world_create(int gpu_count, int class_count);
void world_destroy(struct world *world); /* NULL is fine */

/* Index of (name, scale) or of a GPU type by name or alias; -1 when unknown. */
int world_find_class(const struct world *world, const char *name, int scale);
int world_find_gpu(const struct world *world, const char *name);

static inline float *world_alone(const struct world *w, int gpu, int cls)
{
    return &w->alone[(long)gpu * w->class_count + cls];
}

static inline float *world_spread(const struct world *w, int gpu, int cls)
{
    return &w->spread[(long)gpu * w->class_count + cls];
}

static inline float *world_beside(const struct world *w, int gpu, int cls, int other)
{
    return &w->beside[((long)gpu * w->class_count + cls) * w->class_count + other];
}

static inline float *world_busy(const struct world *w, int gpu, int cls)
{
    return &w->busy[(long)gpu * w->class_count + cls];
}

static inline float *world_watts(const struct world *w, int gpu, int cls)
{
    return &w->watts[(long)gpu * w->class_count + cls];
}
