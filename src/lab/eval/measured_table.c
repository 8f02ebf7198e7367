/* measured_table.c - a world as rows of measurements: eval.c makes it, all protocols
 * read it */
#include "lab/eval/measured_table.h"

#include "base/intern.h"
#include "base/mem.h"
#include "world/power.h"

#include <math.h>
#include <stdlib.h>

/* Where the user told no work a measured rate stands in: at this typical share of peak
 * speed, ops = share * peak / rate. */
#define SHARE_OF_PEAK 0.2

/* A class takes part when it runs on one device and was measured on some GPU. */
static bool takes_part(const struct world *world, int cls)
{
    if (world->classes[cls].scale != 1)
        return false;
    for (int g = 0; g < world->gpu_count; g++)
        if (*world_alone(world, g, cls) > 0)
            return true;
    return false;
}

static void fill_job(struct measured *t, const struct world *world, int job,
                     struct intern *families)
{
    const struct job_descriptor *told = &world->classes[t->class_of[job]].descriptor;
    int family = told->family[0] ? intern_id(families, told->family) : -1;
    double sum = 0;
    int seen = 0;

    t->job[job] = t->told_trait[job] = job_trait_of(told, family);
    for (int g = 0; g < t->gpus; g++) {
        float rate = *world_alone(world, g, t->class_of[job]);

        double watts = (double)*world_watts(world, g, t->class_of[job]);

        t->alone[(long)job * t->gpus + g] = rate > 0 ? log(rate) : NAN;
        t->busy[(long)job * t->gpus + g] =
            watts > 0 ? power_busy(&world->gpus[g], watts) : NAN;
        if (rate > 0) {
            sum += log(world->gpus[g].fp32_tflops * 1e12 / rate);
            seen++;
        }
    }
    if (told->gmac_per_sample <= 0 && seen > 0)
        t->job[job].omega = (sum / seen + log(SHARE_OF_PEAK)) / 3;
}

static void fill_pairs(struct measured *t, const struct world *world, int job)
{
    for (int g = 0; g < t->gpus; g++)
        for (int k = 0; k < t->jobs; k++) {
            float rel = *world_beside(world, g, t->class_of[job], t->class_of[k]);

            t->pair[((long)job * t->gpus + g) * t->jobs + k] = rel > 0 ? log(rel) : NAN;
        }
}

struct measured *measured_create(const struct world *world)
{
    struct measured *t = mem_new(struct measured);
    struct intern *families = intern_create();
    size_t n = 0;

    t->gpus = world->gpu_count;
    t->gpu = mem_array(struct gpu_trait, (size_t)t->gpus + 1);
    t->class_of = mem_array(int, (size_t)world->class_count + 1);
    for (int g = 0; g < t->gpus; g++)
        t->gpu[g] = gpu_trait_of(&world->gpus[g]);
    for (int c = 0; c < world->class_count; c++)
        if (takes_part(world, c))
            t->class_of[n++] = c;
    t->jobs = (int)n;
    t->job = mem_array(struct job_trait, n + 1);
    t->told_trait = mem_array(struct job_trait, n + 1);
    t->alone = mem_array(double, n *(size_t)t->gpus + 1);
    t->busy = mem_array(double, n *(size_t)t->gpus + 1);
    t->pair = mem_array(double, n *n *(size_t)t->gpus + 1);
    t->counted = mem_array(struct job_counters, n + 1);
    for (int j = 0; j < t->jobs; j++) {
        t->counted[j] = job_counters_none();
        fill_job(t, world, j, families);
        fill_pairs(t, world, j);
    }
    t->families = intern_count(families);
    intern_destroy(families);
    return t;
}

void measured_set_counters(struct measured *t, const struct job_counters *counters)
{
    for (int j = 0; j < t->jobs; j++)
        t->counted[j] = counters[t->class_of[j]];
}

void measured_destroy(struct measured *t)
{
    if (!t)
        return;
    free(t->gpu);
    free(t->class_of);
    free(t->job);
    free(t->told_trait);
    free(t->alone);
    free(t->busy);
    free(t->pair);
    free(t->counted);
    free(t);
}
