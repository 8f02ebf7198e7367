/* pair_view.c - pairs as one job sees them: pairs.c makes a view for each row it answers,
 * lessons and the trainer for each job they play with */
#include "model/pair_view.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Mean log relative speed before anything is known counts as so many cells. */
#define PRIOR_MEAN  (-0.598)
#define PRIOR_COUNT 4.0
#define PRIOR_SD    0.30

/* The spread of its type counts as so many rows of a column. */
#define SPREAD_ROWS 3.0

/* Added to the spread over jobs that ratios and levels of rates are measured in. */
#define PROFILE_SD_MIN 0.05
#define LEVEL_SD_MIN   0.1

const struct job_trait *pair_view_trait(const struct pair_sight *v, int job)
{
    const struct pair_catalogue *c = v->from;

    return job < c->job_count ? &c->jobs[job] : &c->guests.traits[job - c->job_count];
}

/* ---- rates alone as features ------------------------------------------------------- */

static double rate_of(const struct pair_sight *v, int job, int gpu)
{
    return job < v->from->job_count ? v->from->rates[job * v->gpus + gpu] : NAN;
}

/* Level and ratios as they are: level NaN where no rate is known. */
static void raw_rates(struct pair_sight *v, int job)
{
    const struct job_trait *trait = pair_view_trait(v, job);
    double sum = 0;
    int count = 0;

    for (int g = 0; g < v->gpus; g++)
        if (!isnan(rate_of(v, job, g))) {
            sum += rate_of(v, job, g);
            count++;
        }
    v->level[job] = count > 0 ? sum / count : NAN;
    v->rated[job] = count > 0;
    for (int g = 0; g < v->gpus; g++) {
        double rate = rate_of(v, job, g);

        v->profile[job * v->gpus + g] = rate - v->level[job];
        v->share[job * v->gpus + g] =
            trait->untold ? NAN
                          : rate + 3 * trait->omega - v->from->gpus[g].speed - log(1e13);
    }
}

/* In units of the spread over known jobs; what is not known is 0. */
static void standardise(const struct pair_sight *v, double *values, int stride,
                        double least)
{
    double sum = 0, square = 0, n = 0;

    for (int i = 0; i < v->known_count; i++) {
        double x = values[v->known[i] * stride];

        if (!isnan(x)) {
            sum += x;
            square += x * x;
            n++;
        }
    }
    sum = n > 0 ? sum / n : 0;
    square = n > 0 ? sqrt(fmax(square / n - sum * sum, 0)) : 0;
    for (int j = 0; j < v->jobs; j++) {
        double *x = &values[j * stride];

        *x = isnan(*x) || n == 0 ? 0 : (*x - sum) / (square + least);
    }
}

static void fill_rates(struct pair_sight *v)
{
    const struct gpu_trait *gpus = v->from->gpus;

    for (int g = 1; g < v->gpus; g++) {
        v->slowest = gpus[g].speed < gpus[v->slowest].speed ? g : v->slowest;
        v->fastest = gpus[g].speed > gpus[v->fastest].speed ? g : v->fastest;
    }
    for (int j = 0; j < v->jobs; j++)
        raw_rates(v, j);
    standardise(v, v->level, 1, LEVEL_SD_MIN);
    for (int g = 0; g < v->gpus; g++)
        standardise(v, v->profile + g, v->gpus, PROFILE_SD_MIN);
}

/* ---- columns and residuals --------------------------------------------------------- */

static bool counts(const struct pair_sight *v, const bool *hidden, struct cell cell)
{
    if (cell.job == v->job || cell.other == v->job)
        return false;
    return !hidden || (!hidden[cell.job] && !hidden[cell.other]);
}

static void type_means(struct pair_sight *v, const bool *hidden)
{
    const struct pair_catalogue *c = v->from;
    double sum[WORLD_MAX_GPUS] = {0}, n[WORLD_MAX_GPUS] = {0};
    double all = PRIOR_COUNT * PRIOR_MEAN, count = PRIOR_COUNT;

    for (size_t i = 0; i < c->count; i++)
        if (counts(v, hidden, c->cells[i])) {
            sum[c->cells[i].gpu] += c->values[i];
            n[c->cells[i].gpu]++;
            all += c->values[i];
            count++;
        }
    for (int g = 0; g < v->gpus; g++)
        v->mean[g] = (sum[g] + PRIOR_COUNT * all / count) / (n[g] + PRIOR_COUNT);
}

static void fill_centres(struct pair_sight *v, const bool *hidden, double *n)
{
    const struct pair_catalogue *c = v->from;

    for (size_t q = 0; q < v->cells; q++) {
        v->centre[q] = v->mean[q / (size_t)v->jobs % (size_t)v->gpus];
        n[q] = 0;
    }
    for (size_t i = 0; i < c->count; i++) {
        struct cell at = c->cells[i];
        int own = pair_view_cell(v, PAIR_OWN, at.gpu, at.other);
        int effect = pair_view_cell(v, PAIR_EFFECT, at.gpu, at.job);

        if (!counts(v, hidden, at))
            continue;
        v->centre[own] += c->values[i];
        v->centre[effect] += c->values[i];
        n[own]++;
        n[effect]++;
    }
    for (size_t q = 0; q < v->cells; q++)
        v->centre[q] /= n[q] + 1;
}

static void add_residual(struct pair_sight *v, int job, int cell, double value)
{
    double r = value - v->centre[cell];

    v->residuals[v->residual_count++] = (struct pair_residual){job, cell, (float)r};
    v->square[cell] += r * r;
}

static void fill_residuals(struct pair_sight *v, const bool *hidden)
{
    const struct pair_catalogue *c = v->from;
    bool *known = mem_array(bool, (size_t)v->jobs + 1);

    for (size_t i = 0; i < c->count; i++) {
        struct cell at = c->cells[i];

        if (!counts(v, hidden, at))
            continue;
        add_residual(v, at.job, pair_view_cell(v, PAIR_OWN, at.gpu, at.other),
                     c->values[i]);
        add_residual(v, at.other, pair_view_cell(v, PAIR_EFFECT, at.gpu, at.job),
                     c->values[i]);
        known[at.job] = known[at.other] = true;
        if (at.job == at.other)
            v->self[at.gpu * v->jobs + at.job] = c->values[i];
    }
    for (int j = 0; j < v->jobs; j++)
        if (known[j])
            v->known[v->known_count++] = j;
    free(known);
}

/* Spread of each column, shrunk to that of its kind and type. */
static void fill_spreads(struct pair_sight *v, const double *n)
{
    size_t jobs = (size_t)v->jobs;

    for (size_t at = 0; at < v->cells; at += jobs) {
        double sum = PRIOR_COUNT * PRIOR_SD * PRIOR_SD, count = PRIOR_COUNT;

        for (size_t k = at; k < at + jobs; k++) {
            sum += v->square[k];
            count += n[k];
        }
        for (size_t k = at; k < at + jobs; k++)
            v->spread[k] =
                sqrt((v->square[k] + SPREAD_ROWS * sum / count) / (n[k] + SPREAD_ROWS));
    }
    for (size_t q = 0; q < v->cells; q++)
        v->square[q] /= fmax(v->known_count - 1, 1);
}

/* Jobs beside themselves, against the mean of these on the type; 0: not measured. */
static void centre_self(struct pair_sight *v)
{
    for (int g = 0; g < v->gpus; g++) {
        double *self = v->self + (long)g * v->jobs, sum = 0;
        int count = 0;

        for (int k = 0; k < v->jobs; k++)
            if (!isnan(self[k])) {
                sum += self[k];
                count++;
            }
        for (int k = 0; k < v->jobs; k++)
            self[k] = isnan(self[k]) ? 0 : self[k] - sum / count;
    }
}

static void count_families(struct pair_sight *v)
{
    int own = v->job == PAIR_NO_JOB ? -1 : pair_view_trait(v, v->job)->family;
    int most = -1;
    int *sizes;

    for (int j = 0; j < v->jobs; j++)
        most =
            pair_view_trait(v, j)->family > most ? pair_view_trait(v, j)->family : most;
    sizes = mem_array(int, (size_t)most + 2);
    for (int i = 0; i < v->known_count; i++) {
        int family = pair_view_trait(v, v->known[i])->family;

        if (family < 0 || sizes[family]++ == 0)
            v->families++;
        v->sibling = v->sibling || (family >= 0 && family == own);
    }
    for (int j = 0; j < v->jobs; j++) {
        int family = pair_view_trait(v, j)->family;

        v->kin[j] = family < 0 || sizes[family] < 1 ? 1 : sizes[family];
    }
    free(sizes);
}

/* ---- the view ---------------------------------------------------------------------- */

static void show_own(struct pair_sight *v)
{
    const struct pair_catalogue *c = v->from;
    struct cell *cells = mem_array(struct cell, c->count + 1);
    double *values = mem_array(double, c->count + 1);
    size_t count = 0;

    for (size_t i = 0; i < c->count; i++)
        if (c->cells[i].job == v->job || c->cells[i].other == v->job) {
            cells[count] = c->cells[i];
            values[count++] = c->values[i];
        }
    pair_view_show(v, cells, values, count);
    free(cells);
    free(values);
}

struct pair_sight *pair_view_create(const struct pair_catalogue *from, int job,
                                    const bool *hidden)
{
    struct pair_sight *v = mem_new(struct pair_sight);
    size_t jobs = (size_t)(from->job_count + from->guests.count);
    size_t gpus = (size_t)from->gpu_count, types = PAIR_KINDS * gpus;
    double *n;

    v->from = from;
    v->job = job;
    v->gpus = from->gpu_count;
    v->jobs = (int)jobs;
    v->cells = types * jobs;
    v->known = mem_array(int, jobs + 1);
    v->kin = mem_array(int, jobs + 1);
    v->centre = mem_array(double, v->cells + 1);
    v->spread = mem_array(double, v->cells + 1);
    v->square = mem_array(double, v->cells + 1);
    v->self = mem_array(double, gpus *jobs + 1);
    v->profile = mem_array(double, gpus *jobs + 1);
    v->level = mem_array(double, jobs + 1);
    v->rated = mem_array(bool, jobs + 1);
    v->share = mem_array(double, gpus *jobs + 1);
    v->residuals = mem_array(struct pair_residual, 2 * from->count + 1);
    v->common = mem_array(double, types *types + 1);
    v->match = mem_array(double, types *types + 1);
    n = mem_array(double, v->cells + 1);
    for (size_t i = 0; i < gpus * jobs; i++)
        v->self[i] = NAN;
    type_means(v, hidden);
    fill_centres(v, hidden, n);
    fill_residuals(v, hidden);
    fill_spreads(v, n);
    free(n);
    centre_self(v);
    count_families(v);
    fill_rates(v);
    if (from->common && !hidden) {
        memcpy(v->common, from->common, types * types * sizeof(*v->common));
        memcpy(v->match, from->match, types * types * sizeof(*v->match));
    } else {
        pair_moments_fill(v);
    }
    if (!hidden)
        show_own(v);
    return v;
}

void pair_view_destroy(struct pair_sight *v)
{
    if (!v)
        return;
    free(v->known);
    free(v->kin);
    free(v->centre);
    free(v->spread);
    free(v->square);
    free(v->self);
    free(v->profile);
    free(v->level);
    free(v->rated);
    free(v->share);
    free(v->residuals);
    free(v->common);
    free(v->match);
    free(v);
}

void pair_view_show(struct pair_sight *v, const struct cell *cells, const double *values,
                    size_t count)
{
    size_t first = count > PAIR_SHOWN_MAX ? count - PAIR_SHOWN_MAX : 0;

    v->shown = v->measured[PAIR_OWN] = v->measured[PAIR_EFFECT] = 0;
    for (size_t i = 0; i < count; i++) {
        int cell = pair_view_find(v, cells[i]);

        v->measured[cells[i].job == v->job ? PAIR_OWN : PAIR_EFFECT]++;
        if (i < first)
            continue;
        v->shown_cells[v->shown] = cell;
        v->shown_error[v->shown++] = values[i] - v->centre[cell];
    }
}
