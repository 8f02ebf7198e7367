/* wide_worlds.c - tables for training: train_pairs.c draws them, cmd_train.c says where
 * measured tables lie among them */
#include "lab/eval/wide_worlds.h"

#include "base/mem.h"
#include "lab/eval/eval_score.h"
#include "lab/tables/invented_gpus.h"
#include "world/generate.h"

#include <math.h>
#include <stdlib.h>

#define JOBS_MIN     8
#define JOBS_MAX     34
#define FAMILIES_MIN 4
#define FAMILIES_MAX 64
#define SLOWEST      0.02

/* What users tell of a family's work is off by this much, in the log. */
#define TOLD_SD 0.4

struct widening {
    struct measured *t;
    struct rng *rng;
    double traits[2 * JOBS_MAX]; /* scratch */
};

static double *cell_of(const struct measured *t, int job, int gpu, int other)
{
    return &t->pair[((long)job * t->gpus + gpu) * t->jobs + other];
}

static bool happens(struct rng *rng, double chance)
{
    return rng_uniform(rng) < chance;
}

/* A trait of each job: most of it is its family's. */
static void draw_traits(struct widening *w, double own, double *out)
{
    double family[FAMILIES_MAX];

    for (int f = 0; f < FAMILIES_MAX; f++)
        family[f] = rng_normal(w->rng);
    for (int j = 0; j < w->t->jobs; j++)
        out[j] = family[w->t->job[j].family % FAMILIES_MAX] + own * rng_normal(w->rng);
}

/* Interaction that nothing told explains, shared in a family and partly between types. */
static void add_hidden(struct widening *w)
{
    const struct measured *t = w->t;
    int rank = 1 + (int)rng_below(w->rng, 3);
    double size = rng_range(w->rng, 0, 0.35) / sqrt(rank) * 0.7;
    double *u = w->traits, *v = w->traits + t->jobs;

    for (int r = 0; r < rank; r++) {
        double shared = rng_uniform(w->rng), apart = 1 - rng_uniform(w->rng);

        draw_traits(w, 0.4, u);
        draw_traits(w, 0.4, v);
        for (int g = 0; g < t->gpus; g++) {
            double weight = size * (shared + apart * rng_normal(w->rng));

            for (int j = 0; j < t->jobs; j++)
                for (int k = 0; k < t->jobs; k++)
                    *cell_of(t, j, g, k) += weight * u[j] * v[k];
        }
    }
}

/* How a family takes to a type. */
static void add_sensitivity(struct widening *w)
{
    const struct measured *t = w->t;
    double size = rng_range(w->rng, 0, 0.3);

    for (int g = 0; g < t->gpus; g++) {
        draw_traits(w, 0, w->traits);
        for (int j = 0; j < t->jobs; j++)
            for (int k = 0; k < t->jobs; k++)
                *cell_of(t, j, g, k) += size * w->traits[j];
    }
}

/* Two families that do not go together, or do. */
static void add_quirks(struct widening *w)
{
    const struct measured *t = w->t;
    double size = rng_range(w->rng, 0, 0.2);
    uint64_t salt = rng_u64(w->rng);

    for (int g = 0; g < t->gpus; g++)
        for (int j = 0; j < t->jobs; j++)
            for (int k = 0; k < t->jobs; k++) {
                uint64_t pair =
                    (uint64_t)(t->job[j].family * FAMILIES_MAX + t->job[k].family);
                struct rng of_pair;

                rng_stream(&of_pair, salt, pair * WORLD_MAX_GPUS + (uint64_t)g);
                *cell_of(t, j, g, k) += size * rng_normal(&of_pair);
            }
}

static void add_noise(struct widening *w)
{
    const struct measured *t = w->t;
    double size = rng_range(w->rng, 0, 0.12);

    for (long i = 0; i < (long)t->jobs * t->gpus * t->jobs; i++)
        t->pair[i] += size * rng_normal(w->rng);
}

/* Batch size, against the mean of the family's. */
static double batch_away(const struct measured *t, int job)
{
    double sum = 0;
    int count = 0;

    for (int j = 0; j < t->jobs; j++)
        if (t->job[j].family == t->job[job].family) {
            sum += t->job[j].beta;
            count++;
        }
    return t->job[job].beta - sum / count;
}

/* Batch matters more inside a family than the roofline says. */
static void add_batch_slopes(struct widening *w)
{
    const struct measured *t = w->t;
    double size = rng_range(w->rng, 0, 0.25);
    double *rows = w->traits, *here = w->traits + t->jobs;
    double *column = mem_array(double, (size_t)t->jobs + 1);

    draw_traits(w, 0, rows);
    draw_traits(w, 0, column);
    for (int g = 0; g < t->gpus; g++) {
        draw_traits(w, 0, here);
        for (int j = 0; j < t->jobs; j++)
            for (int k = 0; k < t->jobs; k++)
                *cell_of(t, j, g, k) +=
                    size * ((rows[j] + 0.6 * here[j]) * batch_away(t, j) +
                            0.5 * column[k] * batch_away(t, k));
    }
    free(column);
}

static void change_level(struct widening *w)
{
    const struct measured *t = w->t;
    double scale = rng_range(w->rng, 0.15, 1.4);
    double shift = rng_range(w->rng, -0.15, 0.15) * happens(w->rng, 0.5);

    for (long i = 0; i < (long)t->jobs * t->gpus * t->jobs; i++)
        t->pair[i] = t->pair[i] * scale + shift;
}

/* The rate alone of a family was measured wrong: every relative speed of it is off. */
static void spoil_rates(struct widening *w)
{
    const struct measured *t = w->t;
    int family = t->job[rng_below(w->rng, (size_t)t->jobs)].family;
    double common = fabs(1.2 * rng_normal(w->rng));

    for (int g = 0; g < t->gpus; g++) {
        double off = common + 0.2 * rng_normal(w->rng);

        for (int j = 0; j < t->jobs; j++) {
            if (t->job[j].family != family)
                continue;
            t->alone[(long)j * t->gpus + g] += off;
            for (int k = 0; k < t->jobs; k++)
                *cell_of(t, j, g, k) -= off;
        }
    }
}

/* What is told of work is a guess, sometimes a bad one; omega is a third of its log. */
static void blur_work(struct widening *w)
{
    double sd = happens(w->rng, 0.3) ? 1 : TOLD_SD;

    draw_traits(w, 0, w->traits);
    for (int j = 0; j < w->t->jobs; j++)
        w->t->job[j].omega += sd * w->traits[j] / 3;
}

/* Both directions of a pair were measured, or none; nothing is faster than alone. */
static void tidy(struct measured *t)
{
    for (int g = 0; g < t->gpus; g++)
        for (int j = 0; j < t->jobs; j++)
            for (int k = 0; k <= j; k++) {
                double *a = cell_of(t, j, g, k), *b = cell_of(t, k, g, j);

                if (isnan(*a) || isnan(*b))
                    *a = *b = NAN;
                *a = isnan(*a) ? NAN : fmin(fmax(*a, log(SLOWEST)), 0);
                *b = isnan(*b) ? NAN : fmin(fmax(*b, log(SLOWEST)), 0);
            }
}

static void widen(struct widening *w)
{
    if (happens(w->rng, 0.7))
        add_hidden(w);
    if (happens(w->rng, 0.6))
        add_sensitivity(w);
    if (happens(w->rng, 0.4))
        add_quirks(w);
    if (happens(w->rng, 0.3))
        add_noise(w);
    if (happens(w->rng, 0.7))
        add_batch_slopes(w);
    if (happens(w->rng, 0.5))
        change_level(w);
    if (happens(w->rng, 0.25))
        spoil_rates(w);
    if (happens(w->rng, 0.1))
        spoil_rates(w);
    blur_work(w);
    tidy(w->t);
}

struct measured *wide_world_draw(struct rng *rng)
{
    static const int types[] = {1, 2, 2, 3, 3, 3, 3, 4, 6};
    struct measured *t = NULL;

    do {
        struct generate_options how = {.gpu_count = types[rng_below(rng, 9)],
                                       .draw = invented_gpus,
                                       .missing = 0.04};
        struct world *world = world_generate(&how, rng);

        measured_destroy(t);
        t = measured_create(world);
        world_destroy(world);
    } while (t->jobs < JOBS_MIN || t->jobs > JOBS_MAX || t->families < FAMILIES_MIN);
    widen(&(struct widening){.t = t, .rng = rng});
    return t;
}

/* ---- where a table lies ------------------------------------------------------------ */

const char *const wide_measure_names[WIDE_MEASURES] = {"mean",
                                                       "sd",
                                                       "sd of rows",
                                                       "sd of columns",
                                                       "sd of the match",
                                                       "sd of rows in a family",
                                                       "share unharmed",
                                                       "2 % quantile"};

struct effects { /* of one type: what rows and columns are away from the mean */
    double mean, *row, *column, match;
};

static void fit_effects(const struct measured *t, int g, struct effects *e)
{
    double sum = 0, n = 0, square = 0;

    for (int j = 0; j < t->jobs; j++)
        for (int k = 0; k < t->jobs; k++)
            if (!isnan(*cell_of(t, j, g, k))) {
                sum += *cell_of(t, j, g, k);
                n++;
            }
    e->mean = n > 0 ? sum / n : 0;
    for (int round = 0; round < 6; round++)
        for (int side = 0; side < 2; side++)
            for (int a = 0; a < t->jobs; a++) {
                double away = 0, count = 0;

                for (int b = 0; b < t->jobs; b++) {
                    double y = side ? *cell_of(t, b, g, a) : *cell_of(t, a, g, b);

                    if (isnan(y))
                        continue;
                    away += y - e->mean - (side ? e->row[b] : e->column[b]);
                    count++;
                }
                (side ? e->column : e->row)[a] = count > 0 ? away / count : 0;
            }
    for (int j = 0; j < t->jobs; j++)
        for (int k = 0; k < t->jobs; k++) {
            double y = *cell_of(t, j, g, k) - e->mean - e->row[j] - e->column[k];

            square += isnan(y) ? 0 : y * y;
        }
    e->match = n > 0 ? sqrt(square / n) : 0;
}

static double sd_of(const double *x, int count)
{
    double sum = 0, square = 0;

    for (int i = 0; i < count; i++) {
        sum += x[i];
        square += x[i] * x[i];
    }
    return sqrt(fmax(square / count - sum * sum / count / count, 0));
}

static double sd_in_family(const struct measured *t, const double *row)
{
    double square = 0, n = 0;

    for (int j = 0; j < t->jobs; j++)
        for (int k = 0; k < j; k++)
            if (t->job[j].family >= 0 && t->job[j].family == t->job[k].family) {
                square += (row[j] - row[k]) * (row[j] - row[k]) / 2;
                n++;
            }
    return n > 0 ? sqrt(square / n) : 0;
}

void wide_world_measure(const struct measured *t, double out[WIDE_MEASURES])
{
    size_t room = (size_t)t->jobs * (size_t)t->jobs * (size_t)t->gpus, count = 0;
    double *values = mem_array(double, room + 1), sum = 0, unharmed = 0;
    struct effects e = {.row = mem_array(double, (size_t)t->jobs + 1),
                        .column = mem_array(double, (size_t)t->jobs + 1)};

    for (int m = 0; m < WIDE_MEASURES; m++)
        out[m] = 0;
    for (int g = 0; g < t->gpus; g++) {
        for (int j = 0; j < t->jobs; j++)
            e.row[j] = e.column[j] = 0;
        fit_effects(t, g, &e);
        out[WIDE_ROW_SD] += sd_of(e.row, t->jobs) / t->gpus;
        out[WIDE_COLUMN_SD] += sd_of(e.column, t->jobs) / t->gpus;
        out[WIDE_MATCH_SD] += e.match / t->gpus;
        out[WIDE_ROW_SD_IN_FAMILY] += sd_in_family(t, e.row) / t->gpus;
    }
    for (size_t i = 0; i < room; i++)
        if (!isnan(t->pair[i])) {
            values[count++] = t->pair[i];
            sum += t->pair[i];
            unharmed += t->pair[i] > -0.02;
        }
    if (count > 0) {
        out[WIDE_MEAN] = sum / (double)count;
        out[WIDE_SD] = sd_of(values, (int)count);
        out[WIDE_UNHARMED] = unharmed / (double)count;
        out[WIDE_LOW] = score_error_quantile(values, count, 0.02);
    }
    free(values);
    free(e.row);
    free(e.column);
}
