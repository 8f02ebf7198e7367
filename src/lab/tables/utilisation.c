/* utilisation.c - how busy a job keeps a card where no table tells: the readers of
 * tables draw it */
#include "lab/tables/utilisation.h"

#include "base/hash.h"
#include "base/intern.h"
#include "base/mem.h"
#include "base/rng.h"

#include <math.h>
#include <stdlib.h>

struct family_level {
    double level;     /* logit of the utilisation at the mean batch on a mid-range card */
    double per_batch; /* more of it for twice the batch */
    double per_speed; /* less of it for e times the FP32 rate */
    double log_batch; /* mean of log2(batch) */
    int count;
};

static void draw_family(struct family_level *f, const char *name, uint64_t seed)
{
    struct rng rng;

    rng_stream(&rng, seed, hash_text(name));
    f->level = 0.6 + 0.8 * rng_normal(&rng);
    f->per_batch = rng_range(&rng, 0.2, 0.7);
    f->per_speed = rng_range(&rng, 0.1, 0.5);
}

static double log_batch(const struct world_class *c)
{
    return c->descriptor.batch > 0 ? log2(c->descriptor.batch) : 0;
}

double utilisation_scaling(const struct world *w, int g, int c)
{
    int single = w->classes[c].scale > 1 ? world_find_class(w, w->classes[c].name, 1) : c;
    double alone = *world_alone(w, g, c), each;

    if (single < 0 || single == c)
        return 1;
    each = w->classes[c].scale * (double)*world_alone(w, g, single);
    return each > 0 && alone > 0 ? fmin(1, fmax(0.3, alone / each)) : 1;
}

static double draw_cell(const struct world *w, const struct family_level *f, int g, int c,
                        uint64_t seed)
{
    const struct world_class *cls = &w->classes[c];
    struct rng rng;
    double logit;

    rng_stream(&rng, rng_mix(seed, hash_text(cls->name)), hash_text(w->gpus[g].name));
    logit = f->level + f->per_batch * (log_batch(cls) - f->log_batch) -
            f->per_speed * log(w->gpus[g].fp32_tflops / 10) + 0.25 * rng_normal(&rng);
    return fmin(0.98, fmax(0.04, utilisation_scaling(w, g, c) / (1 + exp(-logit))));
}

void utilisation_draw(struct world *w, uint64_t seed)
{
    struct intern *names = intern_create();
    struct family_level *families =
        mem_array(struct family_level, (size_t)w->class_count);

    for (int c = 0; c < w->class_count; c++) {
        struct family_level *f =
            &families[intern_id(names, w->classes[c].descriptor.family)];

        f->log_batch += log_batch(&w->classes[c]);
        f->count++;
    }
    for (int i = 0; i < intern_count(names); i++) {
        families[i].log_batch /= families[i].count;
        draw_family(&families[i], intern_name(names, i), seed);
    }
    for (int c = 0; c < w->class_count; c++) {
        int i = intern_find(names, w->classes[c].descriptor.family);

        for (int g = 0; g < w->gpu_count; g++)
            *world_busy(w, g, c) = (float)draw_cell(w, &families[i], g, c, seed);
    }
    intern_destroy(names);
    free(families);
}
