/* ratios.c - what jobs like one did: rates.c carries rates over by it, and hands what its
 * network sees on to it */
#include "model/ratios.h"

#include "base/mem.h"
#include "model/by_user.h"
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

/* What jobs told alike by another user, whom one believes, differ by. */
#define OTHERS_LOG_SD 0.1

/* Batches nearer than this are the same. */
#define SAME_BATCH 1e-6

/* A ratio further from the data sheets' than this says no more than one so far. */
#define RATIO_MOST 2.5

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

static const struct job_trait *trait_of(const struct ratios_view *v, int job)
{
    return job == RATIOS_GUEST ? v->guest : &v->jobs[job];
}

static struct ratios_owner owner_of(const struct ratios_view *v, int job)
{
    if (job == RATIOS_GUEST && v->owners)
        return v->guest_owner;
    return v->owners ? v->owners[job]
                     : (struct ratios_owner){0, trait_of(v, job)->family, 1};
}

static double voice_of(const struct ratios_view *v, int job)
{
    return v->owners ? v->owners[job].voice : 1;
}

/* Of one family by name, and does its user believe b's? */
static bool related(const struct ratios_view *v, int a, int b, bool believed)
{
    struct ratios_owner of_a = owner_of(v, a), of_b = owner_of(v, b);

    if (a == b || of_a.family < 0 || of_a.family != of_b.family)
        return false;
    return believed == (of_a.user == of_b.user || !v->trust ||
                        trust_has(v->trust, of_a.user, of_b.user));
}

/* Near batches count for much more: a quarter for each doubling. */
static double nearness(const struct ratios_view *v, int a, int b)
{
    return exp2(-4 * fabs(trait_of(v, a)->beta - trait_of(v, b)->beta));
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

/* One user's part of a family. */
struct user_part {
    int user;
    double value, weight; /* sums on the way to a mean */
    double nearest;
    int count;
};

static struct user_part *part_of(struct user_part *parts, size_t *count, int user)
{
    for (size_t i = 0; i < *count; i++)
        if (parts[i].user == user)
            return &parts[i];
    parts[*count] = (struct user_part){.user = user, .nearest = INFINITY};
    return &parts[(*count)++];
}

static double median_of_parts(const struct user_part *parts, size_t count)
{
    struct by_user *voices = mem_array(struct by_user, count + 1);
    double result;

    for (size_t i = 0; i < count; i++)
        voices[i] = (struct by_user){parts[i].value, 1};
    result = by_user_median(voices, count);
    free(voices);
    return result;
}

double ratios_between(const struct ratios_view *v, int job, int from, int to)
{
    struct by_user *all = mem_array(struct by_user, (size_t)v->job_count + 1);
    struct user_part *parts = mem_array(struct user_part, (size_t)v->job_count + 1);
    size_t count = 0, users = 0, own = 0;
    double result;

    for (int j = 0; j < v->job_count; j++) {
        double ratio = seen(v, j, to) - seen(v, j, from);
        struct user_part *part;

        if (j == job || isnan(ratio))
            continue;
        all[count++] =
            (struct by_user){ratio, likeness(v, job, j, from) * voice_of(v, j)};
        if (!related(v, job, j, true))
            continue;
        part = part_of(parts, &users, owner_of(v, j).user);
        part->value += nearness(v, j, job) * ratio;
        part->weight += nearness(v, j, job);
    }
    for (size_t i = 0; i < users; i++) {
        parts[i].value /= parts[i].weight;
        if (parts[i].user == owner_of(v, job).user)
            own = i + 1;
    }
    if (own > 0)
        result = parts[own - 1].value;
    else if (users > 0)
        result = median_of_parts(parts, users);
    else if (count > 0)
        result = by_user_weighted_median(all, count);
    else
        result = SHEET_SLOPE * (v->gpus[to].speed - v->gpus[from].speed);
    free(all);
    free(parts);
    return result;
}

/* Jobs of a family that were measured on the type, by user. */
struct family_rates {
    int *jobs; /* (count) */
    int *of;   /* (count) which part */
    int count;
    struct user_part *parts; /* (users) */
    size_t users;
};

static void family_init(struct family_rates *f, const struct ratios_view *v, int job,
                        int gpu, bool believed)
{
    size_t most = (size_t)v->job_count + 1;

    *f = (struct family_rates){mem_array(int, most), mem_array(int, most), 0,
                               mem_array(struct user_part, most), 0};
    for (int j = 0; j < v->job_count; j++) {
        struct user_part *part;

        if (isnan(seen(v, j, gpu)) || !related(v, job, j, believed))
            continue;
        part = part_of(f->parts, &f->users, owner_of(v, j).user);
        part->nearest =
            fmin(part->nearest, fabs(v->jobs[j].beta - trait_of(v, job)->beta));
        part->count++;
        f->jobs[f->count] = j;
        f->of[f->count++] = (int)(part - f->parts);
    }
}

static void family_fini(struct family_rates *f)
{
    free(f->jobs);
    free(f->of);
    free(f->parts);
}

/* Weighted fit of a user's rates to steps that take h + c * batch, with the share `fixed`
 * of h in the step of the asked job; returns the loss, *level its ln rate. */
static double fit_fixed_share(const struct ratios_view *v, const struct family_rates *f,
                              int part, int job, int gpu, double fixed, double *level)
{
    double weight = 0, sum = 0, square = 0;

    for (int i = 0; i < f->count; i++) {
        int j = f->jobs[i];
        double larger = exp2(2 * (v->jobs[j].beta - trait_of(v, job)->beta));
        double at_job = seen(v, j, gpu) + log(fixed + (1 - fixed) * larger);
        double near = nearness(v, j, job);

        if (f->of[i] != part)
            continue;
        weight += near;
        sum += near * at_job;
        square += near * at_job * at_job;
    }
    *level = sum / weight;
    return square - sum * *level +
           FIXED_PULL * (fixed - FIXED_TYPICAL) * (fixed - FIXED_TYPICAL);
}

static double fit_part(const struct ratios_view *v, const struct family_rates *f,
                       int part, int job, int gpu)
{
    double best = INFINITY, result = 0;

    for (int step = 0; step <= 20; step++) {
        double level, loss = fit_fixed_share(v, f, part, job, gpu, step / 20.0, &level);

        if (loss < best) {
            best = loss;
            result = level;
        }
    }
    return result;
}

static struct ratios_level level_of(const struct ratios_view *v, int job, int gpu,
                                    bool believed)
{
    struct ratios_level level = {.others = true};
    double nearest = INFINITY;
    struct family_rates f;
    size_t near = 0;

    family_init(&f, v, job, gpu, believed);
    for (size_t i = 0; i < f.users; i++)
        nearest = fmin(nearest, f.parts[i].nearest);
    /* Who measured the nearest batches, the user's own word before that of others. */
    for (size_t i = 0; i < f.users && level.others; i++) {
        if (f.parts[i].nearest > nearest + SAME_BATCH)
            continue;
        if (f.parts[i].user == owner_of(v, job).user) {
            level.others = false;
            near = 0;
            level.count = 0;
        }
        level.count += f.parts[i].count;
        f.parts[i].value = fit_part(v, &f, (int)i, job, gpu);
        f.parts[near++] = f.parts[i];
    }
    if (near > 0) {
        level.mean = median_of_parts(f.parts, near);
        level.sd = FAMILY_LOG_SD * (0.5 + nearest);
        if (level.others)
            level.sd = hypot(level.sd, OTHERS_LOG_SD);
    }
    family_fini(&f);
    return level;
}

struct ratios_level ratios_family_level(const struct ratios_view *v, int job, int gpu)
{
    return level_of(v, job, gpu, true);
}

struct ratios_level ratios_rumour(const struct ratios_view *v, int job, int gpu)
{
    return level_of(v, job, gpu, false);
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
    struct by_user *shares = mem_array(struct by_user, (size_t)v->job_count + 1);
    double peak = v->gpus[gpu].speed + log(PEAK), kinds = 0, moved;
    size_t count = 0;

    for (int j = 0; j < v->job_count; j++) {
        double share = mean_share(v, j);

        if (j == job || v->jobs[j].untold != trait->untold || isnan(share))
            continue;
        shares[count++] = (struct by_user){share, voice_of(v, j)};
        kinds += voice_of(v, j);
    }
    *mean = peak - 3 * trait->omega + log(TYPICAL_SHARE);
    if (count > 0) {
        double most = KIND_MOST * kinds;

        moved = peak - WORK_SLOPE * trait->omega +
                by_user_weighted_median(shares, count) - *mean;
        *mean += fmax(-most, fmin(moved, most)) * kinds / (kinds + TYPICAL_KINDS);
    }
    *sd = trait->untold ? UNTOLD_LOG_SD : TYPICAL_LOG_SD;
    free(shares);
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
        double ratio = seen(v, j, to) - seen(v, j, from) - sheet, voice = voice_of(v, j);

        if (j == job || isnan(ratio))
            continue;
        ratio = fmax(-RATIO_MOST, fmin(ratio, RATIO_MOST));
        n += voice;
        sum += voice * ratio;
        square += voice * ratio * ratio;
        if (!v->jobs[j].untold) {
            shares += voice * share(v, j, from);
            told += voice;
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
    struct ratios_level level;

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
    level = ratios_family_level(v, job, gpu);
    if (level.count > 0) {
        x[25] = 1;
        x[26] = (float)(2 * (level.mean - base->mean));
        x[27] = (float)(3 * level.sd);
    }
    for (int i = 0; i < STATNET_INPUTS; i++)
        x[i] = fminf(fmaxf(x[i], -CLIP), CLIP);
    return x[5] > 0;
}
