/* transfer.c - see transfer.h */
#include "model/transfer.h"

#include <math.h>
#include <string.h>

#define CLIP         4.0f
#define OMEGA_CENTRE 8.0
#define BETA_CENTRE  3.0
#define PEAK_UNIT    1e13
#define SOURCES      2

static double seen(const struct ratios_view *v, int job, int gpu)
{
    return v->seen[(size_t)job * WORLD_MAX_GPUS + (size_t)gpu];
}

/* ln of the share of peak a job reaches on a type. */
static double share(const struct ratios_view *v, int job, int gpu)
{
    return seen(v, job, gpu) + 3 * v->jobs[job].omega - v->gpus[gpu].speed -
           log(PEAK_UNIT);
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
    double sheet = 0.7 * (v->gpus[to].speed - v->gpus[from].speed);

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

bool transfer_features(const struct ratios_view *v, const double *busy, int job, int gpu,
                       const struct transfer_base *base, struct statnet_row *row)
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
    x[21] = trait->untold ? 0 : (float)(trait->omega - OMEGA_CENTRE);
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

/* ---- what the network is worth here ---------------------------------------------------
 */

/* One guess that is off by orders of magnitude must not decide. */
#define ERROR_MAX 2.0

/* What it costs to move all of the weight, in relative error: as in refine/blend.c. */
#define WEIGHT_COST 0.02

/* The shipped weight counts as so many groups. */
#define PRIOR_GROUPS 10.0

static double weight_at(int step)
{
    return (double)step / (TRANSFER_STEPS - 1);
}

void transfer_evidence_add(struct transfer_evidence *e, const struct rates_guess *said,
                           double truth, bool fresh)
{
    for (int i = 0; i < TRANSFER_STEPS; i++) {
        struct rates_guess g = *said;

        rates_mix(&g, weight_at(i));
        e->error[i] += fmin(fabs(expm1(g.mean - truth)), ERROR_MAX);
    }
    e->count++;
    e->groups += fresh;
}

double transfer_evidence_weight(const struct transfer_evidence *e)
{
    double least = INFINITY, best = TRANSFER_WEIGHT;

    if (e->count <= 0 || e->groups <= 0)
        return best;
    for (int i = 0; i < TRANSFER_STEPS; i++) {
        double moved = fabs(weight_at(i) - TRANSFER_WEIGHT);
        double loss =
            e->error[i] / e->count + WEIGHT_COST * moved * (1 + PRIOR_GROUPS / e->groups);

        if (loss < least) {
            least = loss;
            best = weight_at(i);
        }
    }
    return best;
}
