/* invented_gpus.c - cards of synthetic worlds; training, `corgi eval` and `corgi bench`
 * hand it to world_generate() */
#include "lab/tables/invented_gpus.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* FP32 of invented cards: from the oldest cards still in clusters to today's. */
#define TFLOPS_MIN 2.5
#define TFLOPS_MAX 120

static double log_normal(struct rng *rng, double sd)
{
    return exp(sd * rng_normal(rng));
}

/* Memory comes in the sizes makers sell. */
static double sold_memory(double wanted_gb)
{
    static const double sizes[] = {8, 12, 16, 24, 32, 40, 48, 64, 80, 96, 141, 192};
    double best = sizes[0];

    for (size_t i = 1; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        if (fabs(log(sizes[i] / wanted_gb)) < fabs(log(best / wanted_gb)))
            best = sizes[i];
    return best;
}

/* Only the first three figures matter for rates; the others follow how cards of that
 * speed tend to be. */
static void invent(struct gpu_sheet *s, double exponent, struct rng *rng)
{
    double p = rng_log_range(rng, TFLOPS_MIN, TFLOPS_MAX);

    *s = (struct gpu_sheet){.fp32_tflops = p, .source = "invented"};
    s->bandwidth_gbs = 130 * pow(p, exponent) * log_normal(rng, 0.2);
    s->sms = (int)fmin(320, 10 + 4 * p * log_normal(rng, 0.2));
    s->fp16_tflops = p * rng_log_range(rng, 1, 12);
    s->memory_gb = sold_memory(4.5 * pow(p, 0.65) * log_normal(rng, 0.4));
    s->tdp_watts = 120 * pow(p, 0.33) * log_normal(rng, 0.2);
    s->idle_watts = s->tdp_watts * rng_range(rng, 0.07, 0.16);
    s->cap_min_watts = s->tdp_watts * rng_range(rng, 0.3, 0.6);
    s->year = 2011 + (int)(3.2 * log(p));
}

/* A card of the catalogue not taken so far, its figures off by a tenth. */
static void pick(struct gpu_sheet *s, bool *taken, struct rng *rng)
{
    size_t count;
    const struct gpu_sheet *cards = gpu_catalogue(&count);
    size_t i = rng_below(rng, count);

    while (taken[i])
        i = (i + 1) % count;
    taken[i] = true;
    *s = cards[i];
    s->fp32_tflops *= log_normal(rng, 0.1);
    s->bandwidth_gbs *= log_normal(rng, 0.1);
}

static int by_speed(const void *a, const void *b)
{
    const struct gpu_sheet *left = a, *right = b;

    return (left->fp32_tflops > right->fp32_tflops) -
           (left->fp32_tflops < right->fp32_tflops);
}

void invented_gpus(struct gpu_sheet *sheets, int count, struct rng *rng)
{
    bool taken[256] = {false};
    bool real = rng_uniform(rng) < 0.5;
    double exponent = rng_range(rng, 0.5, 0.9);
    size_t known;

    gpu_catalogue(&known);
    for (int g = 0; g < count; g++) {
        if (real && (size_t)g < known && known <= sizeof(taken))
            pick(&sheets[g], taken, rng);
        else
            invent(&sheets[g], exponent, rng);
    }
    qsort(sheets, (size_t)count, sizeof(*sheets), by_speed);
    for (int g = 0; g < count; g++) {
        if (sheets[g].name[0])
            continue;
        snprintf(sheets[g].name, sizeof(sheets[g].name), "synthetic-%d", g + 1);
        snprintf(sheets[g].title, sizeof(sheets[g].title), "Synthetic card %d", g + 1);
    }
}
