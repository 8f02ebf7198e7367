/* measured_table.h - a measured world as the protocols of `corgi eval` see it
 *
 * Jobs on one device only, as indices; log rates alone and log relative speeds in pairs,
 * NaN where nothing was measured or the run failed. */
#pragma once

#include "model/kernel.h"
#include "world/world.h"

struct measured {
    int gpus, jobs, families;
    struct gpu_trait *gpu;        /* (gpus) */
    struct job_trait *job;        /* (jobs) work from rates where none was told */
    struct job_trait *told_trait; /* (jobs) from what was told alone: no rate in it */
    int *class_of;                /* (jobs) index in the world */
    double *alone;                /* (jobs, gpus) ln steps/s */
    double *busy;                 /* (jobs, gpus) by the draw alone; NaN: not measured */
    double *pair;                 /* (jobs, gpus, jobs) ln relative speed */
    struct job_counters *counted; /* (jobs) while they ran alone */
};

/* The caller ends it with measured_destroy(). */
struct measured *measured_create(const struct world *world);

/* counters (class_count): of the world it was made from. */
void measured_set_counters(struct measured *table, const struct job_counters *counters);
void measured_destroy(struct measured *table); /* NULL is fine */

static inline double measured_alone(const struct measured *t, int job, int gpu)
{
    return t->alone[(long)job * t->gpus + gpu];
}

static inline double measured_busy(const struct measured *t, int job, int gpu)
{
    return t->busy[(long)job * t->gpus + gpu];
}

static inline double measured_pair(const struct measured *t, int job, int gpu, int other)
{
    return t->pair[((long)job * t->gpus + gpu) * t->jobs + other];
}
