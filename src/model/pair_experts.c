/* pair_experts.c - kriging of rows and nearest jobs: pairs.c asks them beside the core
 * and the networks */
#include "model/pair_experts.h"

#include "base/mem.h"
#include "model/dense.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A row has this much in common with rows of jobs at the same rates; it falls with their
 * distance by this length. */
#define ROWS_COMMON   0.6
#define ROWS_LENGTH   1.0
#define LEVEL_SCALE   0.7
#define ROWS_MOST     64  /* the nearest count */
#define COUNTER_SCALE 4.0 /* counters are 0..1 */
#define LEAST_LEFT    0.1 /* of the variance, however alike the rows */

#define NEAREST_SD    0.5
#define NEAREST_LEVEL 0.5
#define NEAREST_WORK  0.5

struct near {
    double far2;
    int job;
};

static int by_distance(const void *a, const void *b)
{
    const struct near *x = a, *y = b;

    if (x->far2 != y->far2)
        return x->far2 < y->far2 ? -1 : 1;
    return (x->job > y->job) - (x->job < y->job);
}

static double squared(double x)
{
    return x * x;
}

/* Squared distance of two jobs by counters, in the units of the others; 0: not told. */
static double counters_apart(const struct pair_sight *v, int a, int b)
{
    const struct pair_catalogue *from = v->from;
    double far2;

    if (!from->counters || a >= from->job_count || b >= from->job_count)
        return 0; /* a guest */
    far2 = job_counters_apart2(&from->counters[a], &from->counters[b]);
    return isnan(far2) ? 0 : far2 * squared(COUNTER_SCALE);
}

/* Squared distance of two rows by rates alone and counters. */
static double rows_apart(const struct pair_sight *v, int a, int b)
{
    const double *x = v->profile + a * v->gpus, *y = v->profile + b * v->gpus;
    double far2 =
        squared(LEVEL_SCALE * (v->level[a] - v->level[b])) + counters_apart(v, a, b);

    if (v->gpus > 1)
        far2 += squared(x[v->slowest] - y[v->slowest]) +
                squared(x[v->fastest] - y[v->fastest]);
    return far2;
}

/* Weights (jobs) of rows that the job's is expected to follow; returns the share of its
 * variance that is left. */
static double weigh_rows(const struct pair_sight *v, double *weights)
{
    struct near *near = mem_array(struct near, (size_t)v->known_count + 1);
    double *factor, *like, *solved, left = 1;
    size_t n = 0;

    for (int i = 0; i < v->known_count && v->rated[v->job]; i++)
        if (v->rated[v->known[i]])
            near[n++] = (struct near){rows_apart(v, v->known[i], v->job), v->known[i]};
    qsort(near, n, sizeof(*near), by_distance);
    n = n > ROWS_MOST ? ROWS_MOST : n;
    factor = mem_array(double, n *n + 1);
    like = mem_array(double, n + 1);
    for (size_t a = 0; a < n; a++) {
        like[a] = ROWS_COMMON * exp(-near[a].far2 / (2 * squared(ROWS_LENGTH)));
        for (size_t b = 0; b < n; b++)
            factor[a * n + b] =
                ROWS_COMMON * exp(-rows_apart(v, near[a].job, near[b].job) /
                                  (2 * squared(ROWS_LENGTH))) +
                (a == b ? 1 - ROWS_COMMON : 0);
    }
    solved = mem_dup(like, n, sizeof(*like));
    if (dense_cholesky(factor, n, n) == 0) {
        dense_solve(factor, n, n, false, solved, 1);
        dense_solve(factor, n, n, true, solved, 1);
        for (size_t a = 0; a < n; a++) {
            weights[near[a].job] = solved[a];
            left -= solved[a] * like[a];
        }
    }
    free(near);
    free(factor);
    free(like);
    free(solved);
    return fmax(left, LEAST_LEFT);
}

/* Weighed residuals of all cells of the view. */
static double *gather(const struct pair_sight *v, const double *weights)
{
    double *all = mem_array(double, v->cells + 1);

    for (size_t i = 0; i < v->residual_count; i++)
        all[v->residuals[i].cell] +=
            weights[v->residuals[i].job] * (double)v->residuals[i].value;
    return all;
}

void pair_experts_rows(const struct pair_sight *v, const int *cells, size_t count,
                       struct blend_said *out)
{
    size_t shown = (size_t)v->shown;
    double *weights = mem_array(double, (size_t)v->jobs + 1);
    double left = weigh_rows(v, weights), *row = gather(v, weights);
    double *update = mem_array(double, count *shown + 1);
    double *var = mem_array(double, count + 1);

    pair_moments_update(v, cells, count, update, var);
    for (size_t q = 0; q < count; q++) {
        double mean = v->centre[cells[q]] + row[cells[q]];

        for (size_t o = 0; o < shown; o++)
            mean += update[q * shown + o] * (v->shown_error[o] - row[v->shown_cells[o]]);
        out[q].by[BLEND_ROWS] = (struct blend_belief){mean, sqrt(left * var[q])};
    }
    free(weights);
    free(row);
    free(update);
    free(var);
}

void pair_experts_nearest(const struct pair_sight *v, const int *cells, size_t count,
                          struct blend_said *out)
{
    double *weights = mem_array(double, (size_t)v->jobs + 1), *row;
    const struct job_trait *own = pair_view_trait(v, v->job);
    double least = INFINITY, sum = 0;

    for (int i = 0; i < v->known_count; i++) {
        int job = v->known[i];
        const struct job_trait *t = pair_view_trait(v, job);
        double far2 = NEAREST_LEVEL * squared(v->level[job] - v->level[v->job]) +
                      counters_apart(v, job, v->job);

        for (int g = 0; g < v->gpus; g++)
            far2 +=
                squared(v->profile[job * v->gpus + g] - v->profile[v->job * v->gpus + g]);
        if (!t->untold && !own->untold)
            far2 += NEAREST_WORK * squared(t->omega - own->omega);
        weights[job] = far2;
        least = fmin(least, far2);
    }
    for (int i = 0; i < v->known_count; i++) {
        double *w = &weights[v->known[i]];

        sum += *w = exp((least - *w) / (2 * NEAREST_SD * NEAREST_SD));
    }
    for (int i = 0; i < v->known_count; i++)
        weights[v->known[i]] /= sum;
    row = gather(v, weights);
    for (size_t q = 0; q < count; q++)
        out[q].by[BLEND_NEAREST] = (struct blend_belief){
            v->centre[cells[q]] + row[cells[q]], v->spread[cells[q]]};
    free(weights);
    free(row);
}
