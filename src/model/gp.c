/* gp.c - observations and their Cholesky factor, see gp.h */
#include "model/gp.h"

#include "base/mem.h"
#include "nn/dense.h"
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
    struct gp *core = mem_new(struct gp);

    gemm_setup();
    core->params = *params;
    core->relative = relative;
    kernel_prepare(&core->kernel, params);
    return core;
}

void gp_destroy(struct gp *core)
{
    if (!core)
        return;
    free(core->jobs);
    free(core->alike);
    free(core->gpus);
    free(core->cells);
    free(core->values);
    free(core->extra);
    free(core->factor);
    free(core->white);
    free(core->weight);
    free(core);
}

struct gp *gp_dup(const struct gp *core)
{
    struct gp *copy = mem_dup(core, 1, sizeof(*core));
    size_t jobs = (size_t)core->job_capacity;
    size_t n = core->capacity;

    copy->jobs = mem_dup(core->jobs, jobs, sizeof(*copy->jobs));
    copy->alike = mem_dup(core->alike, jobs * jobs, sizeof(double));
    copy->gpus = mem_dup(core->gpus, (size_t)core->gpu_count, sizeof(*copy->gpus));
    copy->cells = mem_dup(core->cells, n, sizeof(*copy->cells));
    copy->values = mem_dup(core->values, n, sizeof(double));
    copy->extra = mem_dup(core->extra, n, sizeof(double));
    copy->factor = mem_dup(core->factor, n * n, sizeof(double));
    copy->white = mem_dup(core->white, n, sizeof(double));
    copy->weight = mem_dup(core->weight, n, sizeof(double));
    return copy;
}

static void fill_alike(struct gp *core, int job)
{
    size_t stride = (size_t)core->job_capacity;

    for (int i = 0; i <= job; i++) {
        double k =
            kernel_alike(&core->kernel, &core->jobs[job], &core->jobs[i], i == job);

        core->alike[(size_t)job * stride + (size_t)i] = k;
        core->alike[(size_t)i * stride + (size_t)job] = k;
    }
}

static void grow_jobs(struct gp *core)
{
    size_t old = (size_t)core->job_capacity;
    size_t new = old ? old * 2 : 32;
    double *alike = mem_array(double, new *new);

    for (size_t i = 0; i < old; i++)
        memcpy(alike + i * new, core->alike + i * old, old * sizeof(double));
    free(core->alike);
    core->alike = alike;
    core->jobs = mem_resize(core->jobs, old, new, sizeof(*core->jobs));
    core->job_capacity = (int)new;
}

int gp_add_job(struct gp *core, const struct job_trait *job)
{
    if (core->job_count == core->job_capacity)
        grow_jobs(core);
    core->jobs[core->job_count] = *job;
    fill_alike(core, core->job_count);
    return core->job_count++;
}

int gp_add_gpu(struct gp *core, const struct gpu_trait *gpu)
{
    size_t count = (size_t)core->gpu_count;

    core->gpus = mem_resize(core->gpus, count, count + 1, sizeof(*core->gpus));
    core->gpus[count] = *gpu;
    return core->gpu_count++;
}

int gp_job_count(const struct gp *core)
{
    return core->job_count;
}

int gp_gpu_count(const struct gp *core)
{
    return core->gpu_count;
}

struct kernel_space gp_space(const struct gp *core)
{
    return (struct kernel_space){core->jobs, core->gpus, core->alike,
                                 (size_t)core->job_capacity, core->relative};
}

static void reserve(struct gp *core, size_t wanted)
{
    size_t old = core->capacity, new = old ? old : 64;
    double *factor;

    while (new < wanted)
        new *= 2;
    if (new == old)
        return;
    factor = mem_array(double, new *new);
    for (size_t i = 0; i < core->count; i++)
        memcpy(factor + i * new, core->factor + i * old, (i + 1) * sizeof(double));
    free(core->factor);
    core->factor = factor;
    core->cells = mem_resize(core->cells, old, new, sizeof(*core->cells));
    core->values = mem_resize(core->values, old, new, sizeof(double));
    core->extra = mem_resize(core->extra, old, new, sizeof(double));
    core->white = mem_resize(core->white, old, new, sizeof(double));
    core->weight = mem_resize(core->weight, old, new, sizeof(double));
    core->capacity = new;
}

static void solve_weights(struct gp *core)
{
    memcpy(core->weight, core->white, core->count * sizeof(double));
    dense_solve_lower_t(core->factor, core->count, core->capacity, core->weight, 1);
}

static void solve_values(struct gp *core)
{
    struct kernel_space space = gp_space(core);

    for (size_t i = 0; i < core->count; i++)
        core->white[i] =
            core->values[i] - kernel_mean(&core->kernel, &space, core->cells[i]);
    dense_solve_lower(core->factor, core->count, core->capacity, core->white, 1);
    solve_weights(core);
}

static void fill_covariance(struct gp *core, double jitter)
{
    struct kernel_space space = gp_space(core);

    for (size_t i = 0; i < core->count; i++) {
        double *row = core->factor + i * core->capacity;

        for (size_t j = 0; j <= i; j++)
            row[j] = kernel_value(&core->kernel, &space, core->cells[i], core->cells[j]);
        row[i] += kernel_noise(&core->kernel, core->cells[i]) + core->extra[i] + jitter;
    }
}

/* The factor of observations that have nothing to do with each other. */
static void fill_unrelated(struct gp *core)
{
    for (size_t i = 0; i < core->count; i++) {
        double *row = core->factor + i * core->capacity;

        memset(row, 0, i * sizeof(*row));
        row[i] = 1;
    }
}

static void factorize(struct gp *core)
{
    double jitter = 0;

    if (core->count == 0)
        return;
    fill_covariance(core, jitter);
    while (dense_cholesky(core->factor, core->count, core->capacity) < 0) {
        jitter = jitter > 0 ? jitter * 10 : JITTER_VAR;
        if (jitter > JITTER_MOST) {
            fill_unrelated(core);
            break;
        }
        fill_covariance(core, jitter);
    }
    solve_values(core);
}

size_t gp_observe(struct gp *core, struct cell cell, double value, double extra_var)
{
    struct kernel_space space = gp_space(core);
    size_t n = core->count;
    double *row, own, jitter = 0;

    assert(cell.job < core->job_count && cell.gpu < core->gpu_count &&
           cell.other < core->job_count);
    reserve(core, n + 1);
    row = core->factor + n * core->capacity;
    own = kernel_value(&core->kernel, &space, cell, cell) +
          kernel_noise(&core->kernel, cell);
    do {
        for (size_t i = 0; i < n; i++)
            row[i] = kernel_value(&core->kernel, &space, cell, core->cells[i]);
        row[n] = own + extra_var + jitter;
        jitter = jitter > 0 ? jitter * 10 : JITTER_VAR;
        if (jitter > JITTER_MOST) {
            memset(row, 0, n * sizeof(*row));
            row[n] = 1;
            break;
        }
    } while (dense_cholesky_append(core->factor, n, core->capacity, row) < 0);
    core->cells[n] = cell;
    core->values[n] = value;
    core->extra[n] = extra_var;
    core->white[n] = (value - kernel_mean(&core->kernel, &space, cell) -
                      dense_dot(row, core->white, n)) /
                     row[n];
    core->count++;
    solve_weights(core);
    return n;
}

void gp_load(struct gp *core, const struct cell *cells, const double *values,
             size_t count)
{
    size_t n = core->count;

    if (count == 0)
        return;
    reserve(core, n + count);
    memcpy(core->cells + n, cells, count * sizeof(*cells));
    memcpy(core->values + n, values, count * sizeof(*values));
    memset(core->extra + n, 0, count * sizeof(double));
    core->count += count;
    factorize(core);
}

void gp_revise(struct gp *core, size_t index, double value)
{
    assert(index < core->count);
    core->values[index] = value;
    solve_values(core);
}

void gp_revise_all(struct gp *core, const double *values, const double *extra_var)
{
    memcpy(core->values, values, core->count * sizeof(double));
    if (!extra_var) {
        solve_values(core);
        return;
    }
    memcpy(core->extra, extra_var, core->count * sizeof(double));
    factorize(core);
}

void gp_pop(struct gp *core)
{
    assert(core->count > 0);
    if (--core->count == 0)
        return;
    solve_weights(core); /* rows before the last do not know of it */
}

void gp_retain(struct gp *core, const bool *keep)
{
    size_t kept = 0;

    for (size_t i = 0; i < core->count; i++) {
        if (!keep[i])
            continue;
        core->cells[kept] = core->cells[i];
        core->values[kept] = core->values[i];
        core->extra[kept] = core->extra[i];
        kept++;
    }
    core->count = kept;
    factorize(core);
}

void gp_set_params(struct gp *core, const struct kernel_params *params)
{
    core->params = *params;
    kernel_prepare(&core->kernel, params);
    for (int i = 0; i < core->job_count; i++)
        fill_alike(core, i);
    factorize(core);
}

size_t gp_count(const struct gp *core)
{
    return core->count;
}

struct cell gp_cell(const struct gp *core, size_t index)
{
    return core->cells[index];
}

double gp_observed(const struct gp *core, size_t index)
{
    return core->values[index];
}

double gp_extra_var(const struct gp *core, size_t index)
{
    return core->extra[index];
}

const struct kernel_params *gp_params(const struct gp *core)
{
    return &core->params;
}

const struct kernel *gp_kernel(const struct gp *core)
{
    return &core->kernel;
}

double gp_log_root(const struct gp *core)
{
    double sum = 0;

    for (size_t i = 0; i < core->count; i++)
        sum += log(core->factor[i * core->capacity + i]);
    return sum;
}

/* ---- what it says of cells ------------------------------------------------------------
 */

/* A predictive variance below this is rounding, not knowledge. */
#define VAR_MIN 1e-8

/* out (observations, cells) */
static void cross_covariance(const struct gp *core, const struct cell *cells,
                             size_t count, double *out)
{
    struct kernel_space space = gp_space(core);

    for (size_t i = 0; i < core->count; i++)
        for (size_t q = 0; q < count; q++)
            out[i * count + q] =
                kernel_value(&core->kernel, &space, core->cells[i], cells[q]);
}

static void means_from(const struct gp *core, const struct cell *cells, size_t count,
                       const double *cross, double *mean)
{
    struct kernel_space space = gp_space(core);

    for (size_t q = 0; q < count; q++)
        mean[q] = kernel_mean(&core->kernel, &space, cells[q]);
    for (size_t i = 0; i < core->count; i++)
        for (size_t q = 0; q < count; q++)
            mean[q] += core->weight[i] * cross[i * count + q];
}

void gp_predict(const struct gp *core, const struct cell *cells, size_t count,
                double *mean, double *var)
{
    struct kernel_space space = gp_space(core);
    double *cross = mem_array(double, core->count *count + 1);

    cross_covariance(core, cells, count, cross);
    means_from(core, cells, count, cross, mean);
    if (var) {
        dense_solve_lower(core->factor, core->count, core->capacity, cross, count);
        for (size_t q = 0; q < count; q++)
            var[q] = kernel_value(&core->kernel, &space, cells[q], cells[q]) +
                     kernel_noise(&core->kernel, cells[q]);
        for (size_t i = 0; i < core->count; i++)
            for (size_t q = 0; q < count; q++)
                var[q] -= cross[i * count + q] * cross[i * count + q];
        for (size_t q = 0; q < count; q++)
            if (var[q] < VAR_MIN)
                var[q] = VAR_MIN;
    }
    free(cross);
}

void gp_posterior(const struct gp *core, const struct cell *cells, size_t count,
                  double *mean, double *cov)
{
    struct kernel_space space = gp_space(core);
    double *cross = mem_array(double, core->count *count + 1);

    cross_covariance(core, cells, count, cross);
    means_from(core, cells, count, cross, mean);
    dense_solve_lower(core->factor, core->count, core->capacity, cross, count);
    for (size_t p = 0; p < count; p++) {
        for (size_t q = 0; q < count; q++)
            cov[p * count + q] = kernel_value(&core->kernel, &space, cells[p], cells[q]);
        cov[p * count + p] += kernel_noise(&core->kernel, cells[p]);
    }
    dense_transpose_multiply(-1, cross, count, cross, count, core->count, 1, cov);
    free(cross);
}

void gp_precision(const struct gp *core, double *precision)
{
    dense_inverse(core->factor, core->count, core->capacity, precision);
}

int gp_leave_out(const struct gp *core, const double *precision, const size_t *which,
                 size_t count, double *mean, double *cov)
{
    size_t n = core->count;
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
            moved += cov[a * count + b] * core->weight[which[b]];
        mean[a] = core->values[which[a]] - moved;
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
static void add_observation(const struct gp *core, int job, size_t o, double *level,
                            double *sums)
{
    const struct kernel *k = &core->kernel;
    struct kernel_space space = gp_space(core);
    struct cell seen = core->cells[o];
    const double *row = core->alike + (size_t)job * space.stride;
    double weight = core->weight[o];

    for (int g = 0; g < core->gpu_count; g++) {
        bool same = seen.gpu == g;
        double *sum = sums + (size_t)g * (size_t)core->job_count;
        double spread, share;

        if (!core->relative) {
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

void gp_predict_row(const struct gp *core, int job, const int *others, size_t count,
                    double *out)
{
    struct kernel_space space = gp_space(core);
    size_t jobs = (size_t)core->job_count, gpus = (size_t)core->gpu_count;
    double *level = mem_array(double, gpus + 1);
    double *sums = mem_array(double, gpus *jobs + 1);
    double *all = mem_array(double, gpus *jobs + 1);

    for (size_t g = 0; g < gpus; g++)
        level[g] = kernel_mean(&core->kernel, &space, (struct cell){job, (int)g, 0});
    for (size_t o = 0; o < core->count; o++)
        add_observation(core, job, o, level, sums);
    /* The whole job table, in place: gathering the asked columns costs more. */
    dense_multiply_symmetric(sums, core->alike, space.stride, gpus, jobs, all);
    for (size_t g = 0; g < gpus; g++)
        for (size_t q = 0; q < count; q++)
            out[g * count + q] = all[g * jobs + (size_t)others[q]] + level[g];
    free(level);
    free(sums);
    free(all);
}
