/* ratios.c - see ratios.h */
#include "model/ratios.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

/* Rates grow slower than data sheets say: memory and hosts do not keep up. */
#define SHEET_SLOPE 0.7

/* Rates fall slower than work grows, since large jobs fill a card better. */
#define WORK_SLOPE 2.0

/* Share of peak of a job when no other was ever measured, and how sure of that one is. */
#define TYPICAL_SHARE  0.2
#define TYPICAL_LOG_SD 1.3

#define FAMILY_LOG_SD  0.2

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

static int by_value(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

static double median(double *items, size_t count)
{
    qsort(items, count, sizeof(*items), by_value);
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
    return by_value(&((const struct weighted *)a)->value,
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

void ratios_typical_level(const struct ratios_view *v, int job, int gpu, double *mean,
                          double *sd)
{
    double *share = mem_array(double, (size_t)v->job_count *(size_t)v->gpu_count + 1);
    double peak = v->gpus[gpu].speed + log(1e13);
    size_t count = 0;

    for (int j = 0; j < v->job_count; j++)
        for (int g = 0; g < v->gpu_count; g++)
            if (j != job && !isnan(seen(v, j, g)))
                share[count++] = seen(v, j, g) + WORK_SLOPE * v->jobs[j].omega -
                                 v->gpus[g].speed - log(1e13);
    if (count > 0)
        *mean = peak - WORK_SLOPE * trait_of(v, job)->omega + median(share, count);
    else
        *mean = peak - 3 * trait_of(v, job)->omega + log(TYPICAL_SHARE);
    *sd = TYPICAL_LOG_SD;
    free(share);
}
