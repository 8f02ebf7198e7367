/* ratios.c - what jobs like one did: rates.c carries rates over by it, and hands what its
 * network sees on to it */
#include "model/ratios.h"

#include "base/mem.h"
#include "model/dense.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Rates grow slower than data sheets say: memory and hosts do not keep up. */
#define SHEET_SLOPE 0.7

/* Rates fall slower than work grows, since large jobs fill a card better. */
#define WORK_SLOPE 2.0

/* Share of peak of a job when no other was ever measured, and how sure of that one is. */
#define TYPICAL_SHARE  0.2
#define TYPICAL_LOG_SD 1.3
/* A step of a program nobody told anything of may be any amount of work. */
#define UNTOLD_LOG_SD 2.5
/* That share counts as much as so many kinds of jobs, and each of these moves the level
 * by at most a factor of ten: one odd job says little of all others. */
#define TYPICAL_KINDS 3.0
#define KIND_MOST     2.3

#define FAMILY_LOG_SD 0.2

/* Operations/s of a card of speed 0. */
#define PEAK 1e13

/* A step takes a fixed time and one that grows with the batch.  Where siblings leave the
 * fixed share open, it is pulled weakly to this.  On synthetic worlds a strong pull does
 * best at this share, and a weak one better than a strong one. */
#define FIXED_TYPICAL 0.4
#define FIXED_PULL    0.001

/* Jobs that reach a similar share of peak on one type change alike between two: the width
 * of that likeness, in the log, and what every other job still counts. */
#define SHARE_WIDTH 0.7
#define SHARE_FLOOR 0.1

static double seen(const struct ratios_view *v, int job, int gpu)
{
    return v->seen[(size_t)job * WORLD_MAX_GPUS + (size_t)gpu];
}

static double median(double *items, size_t count)
{
    qsort(items, count, sizeof(*items), dense_by_value);
    return count % 2 ? items[count / 2] : (items[count / 2 - 1] + items[count / 2]) / 2;
}

static const struct job_trait *trait_of(const struct ratios_view *v, int job)
{
    return job == RATIOS_GUEST ? v->guest : &v->jobs[job];
}

static int siblings(const struct ratios_view *v, int a, int b)
{
    int family = trait_of(v, a)->family;

    return a != b && family >= 0 && family == trait_of(v, b)->family;
}

/* Near batches count for much more: a quarter for each doubling. */
static double nearness(const struct ratios_view *v, int a, int b)
{
    return exp2(-4 * fabs(trait_of(v, a)->beta - trait_of(v, b)->beta));
}

struct weighted {
    double value, weight;
};

static int by_weighted(const void *a, const void *b)
{
    return dense_by_value(&((const struct weighted *)a)->value,
                          &((const struct weighted *)b)->value);
}

static double weighted_median(struct weighted *items, size_t count)
{
    double all = 0, sum = 0;
    size_t i = 0;

    qsort(items, count, sizeof(*items), by_weighted);
    for (size_t k = 0; k < count; k++)
        all += items[k].weight;
    while (i + 1 < count && sum + items[i].weight < all / 2)
        sum += items[i++].weight;
    return items[i].value;
}

/* How much the ratio of b tells of that of a.  Where nobody told the work the share of
 * peak is not known, and all jobs count the same. */
static double likeness(const struct ratios_view *v, int a, int b, int gpu)
{
    double apart =
        seen(v, a, gpu) + 3 * v->jobs[a].omega - seen(v, b, gpu) - 3 * v->jobs[b].omega;

    if (isnan(apart) || v->jobs[a].untold || v->jobs[b].untold)
        return 1;
    return SHARE_FLOOR + exp(-0.5 * apart * apart / (SHARE_WIDTH * SHARE_WIDTH));
}

double ratios_between(const struct ratios_view *v, int job, int from, int to)
{
    struct weighted *all = mem_array(struct weighted, (size_t)v->job_count + 1);
    double weight = 0, sum = 0, result;
    size_t count = 0;

    for (int j = 0; j < v->job_count; j++) {
        double ratio = seen(v, j, to) - seen(v, j, from);

        if (j == job || isnan(ratio))
            continue;
        all[count++] = (struct weighted){ratio, likeness(v, job, j, from)};
        if (siblings(v, j, job)) {
            sum += nearness(v, j, job) * ratio;
            weight += nearness(v, j, job);
        }
    }
    if (weight > 0)
        result = sum / weight;
    else if (count > 0)
        result = weighted_median(all, count);
    else
        result = SHEET_SLOPE * (v->gpus[to].speed - v->gpus[from].speed);
    free(all);
    return result;
}

/* Weighted fit of the family's rates to steps that take h + c * batch, with the share
 * `fixed` of h in the step of the asked job; returns the loss, *level its ln rate. */
static double fit_fixed_share(const struct ratios_view *v, int job, int gpu, double fixed,
                              double *level)
{
    double weight = 0, sum = 0, square = 0;

    for (int j = 0; j < v->job_count; j++) {
        double larger = exp2(2 * (v->jobs[j].beta - trait_of(v, job)->beta));
        double at_job = seen(v, j, gpu) + log(fixed + (1 - fixed) * larger);
        double near = nearness(v, j, job);

        if (!siblings(v, j, job) || isnan(at_job))
            continue;
        weight += near;
        sum += near * at_job;
        square += near * at_job * at_job;
    }
    *level = sum / weight;
    return square - sum * *level +
           FIXED_PULL * (fixed - FIXED_TYPICAL) * (fixed - FIXED_TYPICAL);
}

int ratios_family_level(const struct ratios_view *v, int job, int gpu, double *mean,
                        double *sd)
{
    double nearest = INFINITY, best = INFINITY;
    int count = 0;

    for (int j = 0; j < v->job_count; j++) {
        if (!siblings(v, j, job) || isnan(seen(v, j, gpu)))
            continue;
        nearest = fmin(nearest, fabs(v->jobs[j].beta - trait_of(v, job)->beta));
        count++;
    }
    if (count == 0)
        return 0;
    for (int step = 0; step <= 20; step++) {
        double level, loss = fit_fixed_share(v, job, gpu, step / 20.0, &level);

        if (loss < best) {
            best = loss;
            *mean = level;
        }
    }
    *sd = FAMILY_LOG_SD * (0.5 + nearest);
    return count;
}

/* ln of the mean share of peak a job reaches; NaN: never measured. */
static double mean_share(const struct ratios_view *v, int job)
{
    double sum = 0;
    int count = 0;

    for (int g = 0; g < v->gpu_count; g++)
        if (!isnan(seen(v, job, g))) {
            sum += seen(v, job, g) + WORK_SLOPE * v->jobs[job].omega - v->gpus[g].speed -
                   log(PEAK);
            count++;
        }
    return count > 0 ? sum / count : NAN;
}

/* Jobs whose work nobody told say nothing of those of which it was, nor these of them. */
void ratios_typical_level(const struct ratios_view *v, int job, int gpu, double *mean,
                          double *sd)
{
    const struct job_trait *trait = trait_of(v, job);
    double *share = mem_array(double, (size_t)v->job_count + 1);
    double peak = v->gpus[gpu].speed + log(PEAK), moved;
    size_t count = 0;

    for (int j = 0; j < v->job_count; j++) {
        share[count] = mean_share(v, j);
        count += j != job && v->jobs[j].untold == trait->untold && !isnan(share[count]);
    }
    *mean = peak - 3 * trait->omega + log(TYPICAL_SHARE);
    if (count > 0) {
        double most = KIND_MOST * (double)count;

        moved = peak - WORK_SLOPE * trait->omega + median(share, count) - *mean;
        *mean += fmax(-most, fmin(moved, most)) * (double)count /
                 ((double)count + TYPICAL_KINDS);
    }
    *sd = trait->untold ? UNTOLD_LOG_SD : TYPICAL_LOG_SD;
    free(share);
}

/* ---- what the network of rates alone sees ---------------------------------------------
 */

#define CLIP        4.0f
#define BETA_CENTRE 3.0
#define SOURCES     2

/* ln of the share of peak a job reaches on a type. */
static double share(const struct ratios_view *v, int job, int gpu)
{
    return seen(v, job, gpu) + 3 * v->jobs[job].omega - v->gpus[gpu].speed - log(PEAK);
}

static double distance(const struct ratios_view *v, int a, int b)
{
    return fabs(v->gpus[a].speed - v->gpus[b].speed) +
           fabs(v->gpus[a].bandwidth - v->gpus[b].bandwidth);
}

/* The types the job ran on that are nearest to the one asked for; -1 where fewer. */
static int nearest(const struct ratios_view *v, int job, int gpu, int sources[SOURCES])
{
    int count = 0;

    sources[0] = sources[1] = -1;
    for (int g = 0; g < v->gpu_count; g++) {
        if (g == gpu || isnan(seen(v, job, g)))
            continue;
        count++;
        if (sources[0] < 0 || distance(v, g, gpu) < distance(v, sources[0], gpu)) {
            sources[1] = sources[0];
            sources[0] = g;
        } else if (sources[1] < 0 || distance(v, g, gpu) < distance(v, sources[1], gpu)) {
            sources[1] = g;
        }
    }
    return count;
}

/* Six numbers of one type the job ran on. */
static void source_features(const struct ratios_view *v, const double *busy, int job,
                            int from, int to, double base, float x[6])
{
    double used = busy[(size_t)job * WORLD_MAX_GPUS + (size_t)from];

    x[0] = (float)(base - seen(v, job, from));
    x[1] = (float)(v->gpus[to].speed - v->gpus[from].speed);
    x[2] = (float)(v->gpus[to].bandwidth - v->gpus[from].bandwidth);
    if (!v->jobs[job].untold)
        x[3] = (float)(share(v, job, from) / 2 + 1);
    if (!isnan(used)) {
        x[4] = (float)(2 * used - 1);
        x[5] = 1;
    }
}

/* How the other jobs fared between two types. */
static void catalogue_features(const struct ratios_view *v, int job, int from, int to,
                               float x[4])
{
    double n = 0, sum = 0, square = 0, shares = 0, told = 0;
    double sheet = SHEET_SLOPE * (v->gpus[to].speed - v->gpus[from].speed);

    for (int j = 0; j < v->job_count; j++) {
        double ratio = seen(v, j, to) - seen(v, j, from) - sheet;

        if (j == job || isnan(ratio))
            continue;
        n++;
        sum += ratio;
        square += ratio * ratio;
        if (!v->jobs[j].untold) {
            shares += share(v, j, from);
            told++;
        }
    }
    if (n <= 0)
        return;
    x[0] = (float)(log1p(n) / 3);
    x[1] = (float)(2 * sum / (n + 1));
    x[2] = (float)(3 * sqrt(fmax(square / n - sum / n * (sum / n), 0)));
    if (told > 0 && !v->jobs[job].untold)
        x[3] = (float)((share(v, job, from) - shares / told) / 2);
}

/* Where two types were measured: by how much others miss the ratio between them. */
static float surprise(const struct ratios_view *v, int job, const int sources[SOURCES])
{
    double ratio = seen(v, job, sources[0]) - seen(v, job, sources[1]);

    return (float)(2 * (ratio - ratios_between(v, job, sources[1], sources[0])));
}

bool ratios_features(const struct ratios_view *v, const double *busy, int job, int gpu,
                     const struct ratios_base *base, struct statnet_row *row)
{
    const struct job_trait *trait = &v->jobs[job];
    int sources[SOURCES], count = nearest(v, job, gpu, sources);
    float *x = row->x;
    double level, level_sd;

    memset(x, 0, sizeof(row->x));
    row->base = (float)base->mean;
    if (sources[0] >= 0) {
        source_features(v, busy, job, sources[0], gpu, base->mean, x);
        catalogue_features(v, job, sources[0], gpu, x + 12);
    }
    if (sources[1] >= 0) {
        source_features(v, busy, job, sources[1], gpu, base->mean, x + 6);
        x[16] = surprise(v, job, sources);
    }
    x[17] = (float)(log1p(count));
    x[18] = (float)(2 * (base->closed - base->core));
    x[19] = (float)(3 * base->core_sd);
    x[20] = trait->untold ? 1 : 0;
    x[21] = trait->untold ? 0 : (float)(trait->omega - KERNEL_OMEGA_CENTRE);
    x[22] = (float)(trait->beta - BETA_CENTRE);
    x[23] = (float)v->gpus[gpu].speed;
    x[24] = (float)v->gpus[gpu].bandwidth;
    if (ratios_family_level(v, job, gpu, &level, &level_sd) > 0) {
        x[25] = 1;
        x[26] = (float)(2 * (level - base->mean));
        x[27] = (float)(3 * level_sd);
    }
    for (int i = 0; i < STATS_FEATURES; i++)
        x[i] = fminf(fmaxf(x[i], -CLIP), CLIP);
    return x[5] > 0;
}
