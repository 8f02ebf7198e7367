/* isolated_baseline.c - simple guesses of rates alone, which isolated.c compares with */
#include "lab/eval/isolated_baseline.h"

#include "base/mem.h"
#include "lab/eval/lowrank.h"
#include "model/ratios.h"

#include <math.h>
#include <stdlib.h>

const char *const isolated_baseline_names[ISOLATED_BASELINES] = {
    "baseline:constant", "baseline:gpu-mean", "baseline:nearest-job",
    "baseline:median-ratio", "baseline:low-rank"};

struct isolated_baseline {
    const struct fold *fold;
    double constant;
    double gpu[WORLD_MAX_GPUS];
    double *rows; /* (train_count, gpus) */
    double *seen; /* (jobs, WORLD_MAX_GPUS) the catalogue, for ratios.h */
    struct lowrank *lowrank;
};

struct isolated_baseline *isolated_baseline_create(const struct fold *fold)
{
    struct isolated_baseline *b = mem_new(struct isolated_baseline);
    const struct measured *t = fold->table;
    size_t n = (size_t)fold->train_count, gpus = (size_t)t->gpus;
    double all = 0, known = 0;

    b->fold = fold;
    b->rows = mem_array(double, n *gpus + 1);
    b->seen = mem_array(double, (size_t)t->jobs *WORLD_MAX_GPUS + 1);
    for (size_t i = 0; i < (size_t)t->jobs * WORLD_MAX_GPUS; i++)
        b->seen[i] = NAN;
    for (int g = 0; g < t->gpus; g++) {
        double sum = 0, count = 0;

        for (size_t i = 0; i < n; i++) {
            double rate = measured_alone(t, fold->train[i], g);

            b->rows[i * gpus + (size_t)g] = rate;
            b->seen[(size_t)fold->train[i] * WORLD_MAX_GPUS + (size_t)g] = rate;
            if (!isnan(rate)) {
                sum += rate;
                count++;
            }
        }
        b->gpu[g] = count > 0 ? sum / count : 0;
        all += sum;
        known += count;
    }
    b->constant = known > 0 ? all / known : 0;
    b->lowrank = lowrank_create(b->rows, n, gpus, 0, 1);
    return b;
}

void isolated_baseline_destroy(struct isolated_baseline *b)
{
    if (!b)
        return;
    free(b->rows);
    free(b->seen);
    lowrank_destroy(b->lowrank);
    free(b);
}

static double nearest(const struct isolated_baseline *b, const struct rates *rates,
                      int job, int gpu)
{
    const struct measured *t = b->fold->table;
    double best = INFINITY, guess = b->gpu[gpu];

    for (int i = 0; i < b->fold->train_count; i++) {
        int k = b->fold->train[i];
        const struct job_trait *x = &t->told_trait[job], *y = &t->told_trait[k];
        double d = fabs(x->beta - y->beta) + fabs(x->omega - y->omega), shift = 0;
        int count = 0;

        if (isnan(measured_alone(t, k, gpu)))
            continue;
        if (x->family < 0 || x->family != y->family)
            d += 3;
        for (int g = 0; g < t->gpus; g++) {
            double apart = rates_seen(rates, job, g) - measured_alone(t, k, g);

            if (!isnan(apart)) {
                shift += apart;
                count++;
            }
        }
        if (d < best) {
            best = d;
            guess = measured_alone(t, k, gpu) + (count > 0 ? shift / count : 0);
        }
    }
    return guess;
}

/* Ratio of the family, else the median ratio; without a measurement the GPU's mean. */
static double median_ratio(const struct isolated_baseline *b, const struct rates *rates,
                           int job, int gpu)
{
    const struct measured *t = b->fold->table;
    struct ratios_view view = {t->told_trait, t->gpu, t->jobs, t->gpus, b->seen, NULL};
    double sum = 0, count = 0;

    for (int g = 0; g < t->gpus; g++)
        if (!isnan(rates_seen(rates, job, g))) {
            sum += rates_seen(rates, job, g) + ratios_between(&view, job, g, gpu);
            count++;
        }
    return count > 0 ? sum / count : b->gpu[gpu];
}

static double by_rank(const struct isolated_baseline *b, const struct rates *rates,
                      int job, int gpu)
{
    double values[WORLD_MAX_GPUS], out[WORLD_MAX_GPUS];
    size_t seen[WORLD_MAX_GPUS], count = 0;

    for (int g = 0; g < b->fold->table->gpus; g++)
        if (!isnan(rates_seen(rates, job, g))) {
            seen[count] = (size_t)g;
            values[count++] = rates_seen(rates, job, g);
        }
    lowrank_complete(b->lowrank, seen, values, count, out);
    return out[gpu];
}

double isolated_baseline_guess(const struct isolated_baseline *b, int which,
                               const struct rates *rates, int job, int gpu)
{
    switch (which) {
    case 0:
        return b->constant;
    case 1:
        return b->gpu[gpu];
    case 2:
        return nearest(b, rates, job, gpu);
    case 3:
        return median_ratio(b, rates, job, gpu);
    default:
        return by_rank(b, rates, job, gpu);
    }
}
