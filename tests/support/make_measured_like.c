/* make_measured_like.c - writes tests/data/measured-like: tables in the form of measured
 * ones, so that claims of quality are tested where no measured tables are
 *
 * Rates of the synthetic world on three cards of the catalogue, each as a measurement of
 * it would come out: with noise, rounded, and with some pairs that nobody ran.  A list of
 * arrivals for each test that plays one.  The same seed gives the same bytes.
 *
 *     make_measured_like DIRECTORY */
#include "base/rng.h"
#include "world/generate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEED       13
#define FAMILIES   7
#define NOISE_SD   0.02 /* of the log of each rate */
#define MISSING    0.04 /* of the pairs */
#define SHORT_JOBS 20
#define LONG_JOBS  250

static FILE *open_in(const char *folder, const char *name)
{
    char path[4096];
    FILE *f;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    f = fopen(path, "w");
    if (!f) {
        perror(path);
        exit(1);
    }
    return f;
}

static double measured(double rate, struct rng *rng)
{
    return rate * exp(NOISE_SD * rng_normal(rng));
}

static void write_class(FILE *f, const struct world *w, int g, int c, struct rng *rng)
{
    const struct world_class *cls = &w->classes[c];
    double alone = *world_alone(w, g, c);

    fprintf(f, "\"('%s', %d)\": {\"null\": %.4g", cls->name, cls->scale,
            measured(alone, rng));
    for (int other = c; other < w->class_count && cls->scale == 1; other++) {
        double here = *world_beside(w, g, c, other),
               there = *world_beside(w, g, other, c);

        if (w->classes[other].scale > 1 || isnan(here) || isnan(there))
            continue;
        here = measured(here * alone, rng);
        there = other == c ? here : measured(there * *world_alone(w, g, other), rng);
        fprintf(f, ",\n\"('%s', 1)\": [%.4g,%.4g]", w->classes[other].name, here, there);
    }
    fputs("}", f);
}

static void write_rates(const char *folder, const struct world *w, struct rng *rng)
{
    FILE *f = open_in(folder, "throughputs.json");

    for (int g = 0; g < w->gpu_count; g++) {
        const char *before = "";

        fprintf(f, "%s\"%s\": {\n", g ? ",\n" : "{", w->gpus[g].name);
        for (int c = 0; c < w->class_count; c++) {
            if (!(*world_alone(w, g, c) > 0))
                continue;
            fputs(before, f);
            write_class(f, w, g, c, rng);
            before = ",\n";
        }
        fputs("}", f);
    }
    fputs("}\n", f);
    fclose(f);
}

static void write_families(const char *folder, const struct world *w)
{
    FILE *f = open_in(folder, "descriptors.csv");

    fputs("family,kind,forward_gmac_per_sample,params_millions,memory_mb_per_sample\n",
          f);
    for (int c = 0; c < w->class_count; c++) {
        const struct job_descriptor *d = &w->classes[c].descriptor;

        if (c == 0 || strcmp(d->family, w->classes[c - 1].descriptor.family) != 0)
            fprintf(f, "%s,%s,%.4g,%.4g,%.4g\n", d->family, model_kind_names[d->model],
                    d->gmac_per_sample, d->params_millions, d->memory_mb_per_sample);
    }
    fclose(f);
}

/* Jobs of half an hour to ten hours on the last card, most of them on one device. */
static void write_trace(const char *folder, const char *name, const struct world *w,
                        int jobs, double gap_s, struct rng *rng)
{
    FILE *f = open_in(folder, name);
    int best = w->gpu_count - 1;
    double at_s = 0;

    fputs("job_type,total_steps,arrival_s,scale_factor,priority,slo\n", f);
    for (int j = 0; j < jobs;) {
        int c = (int)rng_below(rng, (size_t)w->class_count);
        double hours = 0.5 * exp(3 * rng_uniform(rng)), rate = *world_alone(w, best, c);

        if (!(rate > 0) || w->classes[c].scale > 4)
            continue;
        fprintf(f, "%s,%.0f,%.0f,%d,1,%s\n", w->classes[c].name, 3600 * hours * rate,
                at_s, w->classes[c].scale, j % 3 ? "-1" : "3");
        at_s += -gap_s * log(1 - rng_uniform(rng));
        j++;
    }
    fclose(f);
}

int main(int argc, char **argv)
{
    struct gpu_sheet cards[] = {*gpu_find("k80"), *gpu_find("p100"), *gpu_find("v100")};
    struct generate_options how = {.gpu_count = 3,
                                   .gpus = cards,
                                   .family_min = FAMILIES,
                                   .family_max = FAMILIES,
                                   .missing = MISSING,
                                   .scales = true};
    struct world *world;
    struct rng rng;

    if (argc != 2) {
        fprintf(stderr, "usage: make_measured_like DIRECTORY\n");
        return 2;
    }
    rng_init(&rng, SEED);
    world = world_generate(&how, &rng);
    write_rates(argv[1], world, &rng);
    write_families(argv[1], world);
    write_trace(argv[1], "short_trace.csv", world, SHORT_JOBS, 1800, &rng);
    write_trace(argv[1], "long_trace.csv", world, LONG_JOBS, 1200, &rng);
    world_destroy(world);
    return 0;
}
