/* gp.c - observations and their Cholesky factor, see gp.h */
#include "model/gp.h"

#include "base/mem.h"
#include "model/dense.h"
#include "nn/gemm.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct gp {
    struct kernel_params params;
    struct kernel kernel;
    bool relative;
    struct job_trait *jobs; /* (job_capacity) */
    int job_count, job_capacity;
    double *alike; /* (job_capacity, job_capacity) */
    struct gpu_trait *gpus;
    int gpu_count;
    size_t count, capacity; /* observations */
    struct cell *cells;
    double *values;
    double *extra;  /* variance beyond the kernel's noise */
    double *factor; /* (capacity, capacity) lower Cholesky of the covariance */
    double *white;  /* (capacity) factor^-1 (values - mean) */
    double *weight; /* (capacity) covariance^-1 (values - mean) */
};

/* Added to a variance when rounding makes the factor fail; grows tenfold a try. */
#define JITTER_VAR 1e-6
/* More than this is no rounding: such a covariance is none, and is not mended. */
#define JITTER_MOST 1e6

struct gp *gp_create(const struct kernel_params *params, bool relative)
{
    struct gp *gp = mem_new(struct gp);

    gemm_setup();
    gp->params = *params;
    gp->relative = relative;
    kernel_prepare(&gp->kernel, params);
    return gp;
}

void gp_destroy(struct gp *gp)
{
    if (!gp)
        return;
    free(gp->jobs);
    free(gp->alike);
    free(gp->gpus);
    free(gp->cells);
    free(gp->values);
    free(gp->extra);
    free(gp->factor);
    free(gp->white);
    free(gp->weight);
    free(gp);
}

struct gp *gp_dup(const struct gp *gp)
{
    struct gp *copy = mem_dup(gp, 1, sizeof(*gp));
    size_t jobs = (size_t)gp->job_capacity;
    size_t n = gp->capacity;

    copy->jobs = mem_dup(gp->jobs, jobs, sizeof(*copy->jobs));
    copy->alike = mem_dup(gp->alike, jobs * jobs, sizeof(double));
    copy->gpus = mem_dup(gp->gpus, (size_t)gp->gpu_count, sizeof(*copy->gpus));
    copy->cells = mem_dup(gp->cells, n, sizeof(*copy->cells));
    copy->values = mem_dup(gp->values, n, sizeof(double));
    copy->extra = mem_dup(gp->extra, n, sizeof(double));
    copy->factor = mem_dup(gp->factor, n * n, sizeof(double));
    copy->white = mem_dup(gp->white, n, sizeof(double));
    copy->weight = mem_dup(gp->weight, n, sizeof(double));
    return copy;
}

static void fill_alike(struct gp *gp, int job)
{
    size_t stride = (size_t)gp->job_capacity;

    for (int i = 0; i <= job; i++) {
        double k = kernel_alike(&gp->kernel, &gp->jobs[job], &gp->jobs[i], i == job);

        gp->alike[(size_t)job * stride + (size_t)i] = k;
        gp->alike[(size_t)i * stride + (size_t)job] = k;
    }
}

static void grow_jobs(struct gp *gp)
{
    size_t old = (size_t)gp->job_capacity;
    size_t new = old ? old * 2 : 32;
    double *alike = mem_array(double, new *new);

    for (size_t i = 0; i < old; i++)
        memcpy(alike + i * new, gp->alike + i * old, old * sizeof(double));
    free(gp->alike);
    gp->alike = alike;
    gp->jobs = mem_resize(gp->jobs, old, new, sizeof(*gp->jobs));
    gp->job_capacity = (int)new;
}

int gp_add_job(struct gp *gp, const struct job_trait *job)
{
    if (gp->job_count == gp->job_capacity)
        grow_jobs(gp);
    gp->jobs[gp->job_count] = *job;
    fill_alike(gp, gp->job_count);
    return gp->job_count++;
}

int gp_add_gpu(struct gp *gp, const struct gpu_trait *gpu)
{
    size_t count = (size_t)gp->gpu_count;

    gp->gpus = mem_resize(gp->gpus, count, count + 1, sizeof(*gp->gpus));
    gp->gpus[count] = *gpu;
    return gp->gpu_count++;
}

int gp_job_count(const struct gp *gp)
{
    return gp->job_count;
}

int gp_gpu_count(const struct gp *gp)
{
    return gp->gpu_count;
}

struct kernel_space gp_space(const struct gp *gp)
{
    return (struct kernel_space){gp->jobs, gp->gpus, gp->alike, (size_t)gp->job_capacity,
                                 gp->relative};
}

static void reserve(struct gp *gp, size_t wanted)
{
    size_t old = gp->capacity, new = old ? old : 64;
    double *factor;

    while (new < wanted)
        new *= 2;
    if (new == old)
        return;
    factor = mem_array(double, new *new);
    for (size_t i = 0; i < gp->count; i++)
        memcpy(factor + i * new, gp->factor + i * old, (i + 1) * sizeof(double));
    free(gp->factor);
    gp->factor = factor;
    gp->cells = mem_resize(gp->cells, old, new, sizeof(*gp->cells));
    gp->values = mem_resize(gp->values, old, new, sizeof(double));
    gp->extra = mem_resize(gp->extra, old, new, sizeof(double));
    gp->white = mem_resize(gp->white, old, new, sizeof(double));
    gp->weight = mem_resize(gp->weight, old, new, sizeof(double));
    gp->capacity = new;
}

static void solve_weights(struct gp *gp)
{
    memcpy(gp->weight, gp->white, gp->count * sizeof(double));
    dense_solve_lower_t(gp->factor, gp->count, gp->capacity, gp->weight, 1);
}

static void solve_values(struct gp *gp)
{
    struct kernel_space space = gp_space(gp);

    for (size_t i = 0; i < gp->count; i++)
        gp->white[i] = gp->values[i] - kernel_mean(&gp->kernel, &space, gp->cells[i]);
    dense_solve_lower(gp->factor, gp->count, gp->capacity, gp->white, 1);
    solve_weights(gp);
}

static void fill_covariance(struct gp *gp, double jitter)
{
    struct kernel_space space = gp_space(gp);

    for (size_t i = 0; i < gp->count; i++) {
        double *row = gp->factor + i * gp->capacity;

        for (size_t j = 0; j <= i; j++)
            row[j] = kernel_value(&gp->kernel, &space, gp->cells[i], gp->cells[j]);
        row[i] += kernel_noise(&gp->kernel, gp->cells[i]) + gp->extra[i] + jitter;
    }
}

/* The factor of observations that have nothing to do with each other. */
static void fill_unrelated(struct gp *gp)
{
    for (size_t i = 0; i < gp->count; i++) {
        double *row = gp->factor + i * gp->capacity;

        memset(row, 0, i * sizeof(*row));
        row[i] = 1;
    }
}

static void factorize(struct gp *gp)
{
    double jitter = 0;

    if (gp->count == 0)
        return;
    fill_covariance(gp, jitter);
    while (dense_cholesky(gp->factor, gp->count, gp->capacity) < 0) {
        jitter = jitter > 0 ? jitter * 10 : JITTER_VAR;
        if (jitter > JITTER_MOST) {
            fill_unrelated(gp);
            break;
        }
        fill_covariance(gp, jitter);
    }
    solve_values(gp);
}

size_t gp_observe(struct gp *gp, struct cell cell, double value, double extra_var)
{
    struct kernel_space space = gp_space(gp);
    size_t n = gp->count;
    double *row, own, jitter = 0;

    assert(cell.job < gp->job_count && cell.gpu < gp->gpu_count &&
           cell.other < gp->job_count);
    reserve(gp, n + 1);
    row = gp->factor + n * gp->capacity;
    own = kernel_value(&gp->kernel, &space, cell, cell) + kernel_noise(&gp->kernel, cell);
    do {
        for (size_t i = 0; i < n; i++)
            row[i] = kernel_value(&gp->kernel, &space, cell, gp->cells[i]);
        row[n] = own + extra_var + jitter;
        jitter = jitter > 0 ? jitter * 10 : JITTER_VAR;
        if (jitter > JITTER_MOST) {
            memset(row, 0, n * sizeof(*row));
            row[n] = 1;
            break;
        }
    } while (dense_cholesky_append(gp->factor, n, gp->capacity, row) < 0);
    gp->cells[n] = cell;
    gp->values[n] = value;
    gp->extra[n] = extra_var;
    gp->white[n] =
        (value - kernel_mean(&gp->kernel, &space, cell) - dense_dot(row, gp->white, n)) /
        row[n];
    gp->count++;
    solve_weights(gp);
    return n;
}

void gp_load(struct gp *gp, const struct cell *cells, const double *values, size_t count)
{
    size_t n = gp->count;

    if (count == 0)
        return;
    reserve(gp, n + count);
    memcpy(gp->cells + n, cells, count * sizeof(*cells));
    memcpy(gp->values + n, values, count * sizeof(*values));
    memset(gp->extra + n, 0, count * sizeof(double));
    gp->count += count;
    factorize(gp);
}

void gp_revise(struct gp *gp, size_t index, double value)
{
    assert(index < gp->count);
    gp->values[index] = value;
    solve_values(gp);
}

void gp_revise_all(struct gp *gp, const double *values, const double *extra_var)
{
    memcpy(gp->values, values, gp->count * sizeof(double));
    if (!extra_var) {
        solve_values(gp);
        return;
    }
    memcpy(gp->extra, extra_var, gp->count * sizeof(double));
    factorize(gp);
}

void gp_pop(struct gp *gp)
{
    assert(gp->count > 0);
    if (--gp->count == 0)
        return;
    solve_weights(gp); /* rows before the last do not know of it */
}

void gp_retain(struct gp *gp, const bool *keep)
{
    size_t kept = 0;

    for (size_t i = 0; i < gp->count; i++) {
        if (!keep[i])
            continue;
        gp->cells[kept] = gp->cells[i];
        gp->values[kept] = gp->values[i];
        gp->extra[kept] = gp->extra[i];
        kept++;
    }
    gp->count = kept;
    factorize(gp);
}

void gp_set_params(struct gp *gp, const struct kernel_params *params)
{
    gp->params = *params;
    kernel_prepare(&gp->kernel, params);
    for (int i = 0; i < gp->job_count; i++)
        fill_alike(gp, i);
    factorize(gp);
}

size_t gp_count(const struct gp *gp)
{
    return gp->count;
}

struct cell gp_cell(const struct gp *gp, size_t index)
{
    return gp->cells[index];
}

double gp_observed(const struct gp *gp, size_t index)
{
    return gp->values[index];
}

double gp_extra_var(const struct gp *gp, size_t index)
{
    return gp->extra[index];
}

const struct kernel_params *gp_params(const struct gp *gp)
{
    return &gp->params;
}

const struct kernel *gp_kernel(const struct gp *gp)
{
    return &gp->kernel;
}

double gp_log_root(const struct gp *gp)
{
    double sum = 0;

    for (size_t i = 0; i < gp->count; i++)
        sum += log(gp->factor[i * gp->capacity + i]);
    return sum;
}

/* ---- what it says of cells ------------------------------------------------------------
 */

/* A predictive variance below this is rounding, not knowledge. */
#define VAR_MIN 1e-8

/* out (observations, cells) */
static void cross_covariance(const struct gp *gp, const struct cell *cells, size_t count,
                             double *out)
{
    struct kernel_space space = gp_space(gp);

    for (size_t i = 0; i < gp->count; i++)
        for (size_t q = 0; q < count; q++)
            out[i * count + q] =
                kernel_value(&gp->kernel, &space, gp->cells[i], cells[q]);
}

static void means_from(const struct gp *gp, const struct cell *cells, size_t count,
                       const double *cross, double *mean)
{
    struct kernel_space space = gp_space(gp);

    for (size_t q = 0; q < count; q++)
        mean[q] = kernel_mean(&gp->kernel, &space, cells[q]);
    for (size_t i = 0; i < gp->count; i++)
        for (size_t q = 0; q < count; q++)
            mean[q] += gp->weight[i] * cross[i * count + q];
}

void gp_predict(const struct gp *gp, const struct cell *cells, size_t count, double *mean,
                double *var)
{
    struct kernel_space space = gp_space(gp);
    double *cross = mem_array(double, gp->count *count + 1);

    cross_covariance(gp, cells, count, cross);
    means_from(gp, cells, count, cross, mean);
    if (var) {
        dense_solve_lower(gp->factor, gp->count, gp->capacity, cross, count);
        for (size_t q = 0; q < count; q++)
            var[q] = kernel_value(&gp->kernel, &space, cells[q], cells[q]) +
                     kernel_noise(&gp->kernel, cells[q]);
        for (size_t i = 0; i < gp->count; i++)
            for (size_t q = 0; q < count; q++)
                var[q] -= cross[i * count + q] * cross[i * count + q];
        for (size_t q = 0; q < count; q++)
            if (var[q] < VAR_MIN)
                var[q] = VAR_MIN;
    }
    free(cross);
}

/* How alike a job is to all jobs up to `count`, guests included. */
static double *alike_to_all(const struct gp *gp, const struct gp_guests *guests, int job)
{
    int known = gp->job_count, count = known + guests->count;
    double *row = mem_array(double, (size_t)count);
    const struct job_trait *trait =
        job < known ? &gp->jobs[job] : &guests->traits[job - known];

    for (int i = 0; i < known; i++)
        row[i] = job < known
                     ? gp->alike[(size_t)job * (size_t)gp->job_capacity + (size_t)i]
                     : kernel_alike(&gp->kernel, trait, &gp->jobs[i], 0);
    for (int i = known; i < count; i++)
        row[i] = kernel_alike(&gp->kernel, trait, &guests->traits[i - known], i == job);
    return row;
}

void gp_predict_guest(const struct gp *gp, const struct gp_guests *guests,
                      struct cell cell, double *mean, double *var)
{
    double *row = alike_to_all(gp, guests, cell.job);
    double *other = alike_to_all(gp, guests, cell.other);
    double *cross = mem_array(double, gp->count + 1);

    assert(gp->relative && cell.other >= 0);
    *mean = gp->kernel.m0;
    for (size_t i = 0; i < gp->count; i++) {
        cross[i] = kernel_pair_value(&gp->kernel, cell, gp->cells[i], row, other);
        *mean += gp->weight[i] * cross[i];
    }
    *var = kernel_pair_value(&gp->kernel, cell, cell, row, other) +
           kernel_noise(&gp->kernel, cell);
    dense_solve_lower(gp->factor, gp->count, gp->capacity, cross, 1);
    for (size_t i = 0; i < gp->count; i++)
        *var -= cross[i] * cross[i];
    *var = *var < VAR_MIN ? VAR_MIN : *var;
    free(row);
    free(other);
    free(cross);
}

void gp_posterior(const struct gp *gp, const struct cell *cells, size_t count,
                  double *mean, double *cov)
{
    struct kernel_space space = gp_space(gp);
    double *cross = mem_array(double, gp->count *count + 1);

    cross_covariance(gp, cells, count, cross);
    means_from(gp, cells, count, cross, mean);
    dense_solve_lower(gp->factor, gp->count, gp->capacity, cross, count);
    for (size_t p = 0; p < count; p++) {
        for (size_t q = 0; q < count; q++)
            cov[p * count + q] = kernel_value(&gp->kernel, &space, cells[p], cells[q]);
        cov[p * count + p] += kernel_noise(&gp->kernel, cells[p]);
    }
    dense_transpose_multiply(-1, cross, count, cross, count, gp->count, 1, cov);
    free(cross);
}

void gp_precision(const struct gp *gp, double *precision)
{
    dense_inverse(gp->factor, gp->count, gp->capacity, precision);
}

int gp_leave_out(const struct gp *gp, const double *precision, const size_t *which,
                 size_t count, double *mean, double *cov)
{
    size_t n = gp->count;
    double *block = mem_array(double, count *count + 1);
    int rc = -1;

    for (size_t a = 0; a < count; a++)
        for (size_t b = 0; b < count; b++)
            block[a * count + b] = precision[which[a] * n + which[b]];
    if (dense_cholesky(block, count, count) < 0)
        goto done;
    dense_inverse(block, count, count, cov);
    for (size_t a = 0; a < count; a++) {
        double moved = 0;

        for (size_t b = 0; b < count; b++)
            moved += cov[a * count + b] * gp->weight[which[b]];
        mean[a] = gp->values[which[a]] - moved;
    }
    rc = 0;
done:
    free(block);
    return rc;
}

void gp_condition(const double *mean, const double *cov, size_t count, const size_t *seen,
                  const double *values, size_t seen_count, double *mean_out,
                  double *var_out)
{
    double *factor = mem_array(double, seen_count *seen_count + 1);
    double *cross = mem_array(double, seen_count *count + 1);
    double *white = mem_array(double, seen_count + 1);

    for (size_t a = 0; a < seen_count; a++) {
        for (size_t b = 0; b < seen_count; b++)
            factor[a * seen_count + b] = cov[seen[a] * count + seen[b]];
        factor[a * seen_count + a] += VAR_MIN;
        memcpy(cross + a * count, cov + seen[a] * count, count * sizeof(double));
        white[a] = values[a] - mean[seen[a]];
    }
    for (size_t q = 0; q < count; q++) {
        mean_out[q] = mean[q];
        var_out[q] = cov[q * count + q];
    }
    if (dense_cholesky(factor, seen_count, seen_count) == 0) {
        dense_solve_lower(factor, seen_count, seen_count, cross, count);
        dense_solve_lower(factor, seen_count, seen_count, white, 1);
        for (size_t a = 0; a < seen_count; a++)
            for (size_t q = 0; q < count; q++) {
                mean_out[q] += cross[a * count + q] * white[a];
                var_out[q] -= cross[a * count + q] * cross[a * count + q];
            }
    }
    for (size_t q = 0; q < count; q++)
        if (var_out[q] < VAR_MIN)
            var_out[q] = VAR_MIN;
    free(factor);
    free(cross);
    free(white);
}

/* ---- one job beside many others at once -----------------------------------------------
 */

/* Add observation o to the sums of every GPU: level (gpus), sums (gpus, jobs). */
static void add_observation(const struct gp *gp, int job, size_t o, double *level,
                            double *sums)
{
    const struct kernel *k = &gp->kernel;
    struct kernel_space space = gp_space(gp);
    struct cell seen = gp->cells[o];
    const double *row = gp->alike + (size_t)job * space.stride;
    double weight = gp->weight[o];

    for (int g = 0; g < gp->gpu_count; g++) {
        bool same = seen.gpu == g;
        double *sum = sums + (size_t)g * (size_t)gp->job_count;
        double spread, share;

        if (!gp->relative) {
            struct cell alone = {job, g, -1}, other = {seen.job, seen.gpu, -1};

            level[g] += weight * kernel_value(k, &space, alone, other);
        }
        if (seen.other < 0)
            continue;
        spread = weight * k->spread[g] * k->spread[seen.gpu];
        share = spread * (same ? 1 : k->share_g);
        level[g] += weight * k->vm * (same ? 1 : k->share_m) +
                    share * (k->va * row[seen.job] + k->vab * row[seen.other]);
        sum[seen.other] +=
            share * k->vb + spread * k->vc * (same ? 1 : k->share_c) * row[seen.job];
        sum[seen.job] += share * k->vab;
    }
}

void gp_predict_row(const struct gp *gp, int job, const int *others, size_t count,
                    double *out)
{
    struct kernel_space space = gp_space(gp);
    size_t jobs = (size_t)gp->job_count, gpus = (size_t)gp->gpu_count;
    double *level = mem_array(double, gpus + 1);
    double *sums = mem_array(double, gpus *jobs + 1);
    double *all = mem_array(double, gpus *jobs + 1);

    for (size_t g = 0; g < gpus; g++)
        level[g] = kernel_mean(&gp->kernel, &space, (struct cell){job, (int)g, 0});
    for (size_t o = 0; o < gp->count; o++)
        add_observation(gp, job, o, level, sums);
    /* The whole job table, in place: gathering the asked columns costs more. */
    dense_multiply_symmetric(sums, gp->alike, space.stride, gpus, jobs, all);
    for (size_t g = 0; g < gpus; g++)
        for (size_t q = 0; q < count; q++)
            out[g * count + q] = all[g * jobs + (size_t)others[q]] + level[g];
    free(level);
    free(sums);
    free(all);
}
