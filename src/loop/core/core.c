/* core.c - observations and their Cholesky factor, see core.h */
#include "loop/core/core.h"

#include "base/mem.h"
#include "loop/core/core_state.h"
#include "loop/core/dense.h"
#include "nn/gemm.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Added to a variance when rounding makes the factor fail; grows tenfold a try. */
#define JITTER_VAR 1e-6
/* More than this is no rounding: such a covariance is none, and is not mended. */
#define JITTER_MOST 1e6

struct core *core_create(const struct kernel_params *params, bool relative)
{
    struct core *core = mem_new(struct core);

    gemm_setup();
    core->params = *params;
    core->relative = relative;
    kernel_prepare(&core->kernel, params);
    return core;
}

void core_destroy(struct core *core)
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

struct core *core_dup(const struct core *core)
{
    struct core *copy = mem_dup(core, 1, sizeof(*core));
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

static void fill_alike(struct core *core, int job)
{
    size_t stride = (size_t)core->job_capacity;

    for (int i = 0; i <= job; i++) {
        double k =
            kernel_alike(&core->kernel, &core->jobs[job], &core->jobs[i], i == job);

        core->alike[(size_t)job * stride + (size_t)i] = k;
        core->alike[(size_t)i * stride + (size_t)job] = k;
    }
}

static void grow_jobs(struct core *core)
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

int core_add_job(struct core *core, const struct job_trait *job)
{
    if (core->job_count == core->job_capacity)
        grow_jobs(core);
    core->jobs[core->job_count] = *job;
    fill_alike(core, core->job_count);
    return core->job_count++;
}

int core_add_gpu(struct core *core, const struct gpu_trait *gpu)
{
    size_t count = (size_t)core->gpu_count;

    core->gpus = mem_resize(core->gpus, count, count + 1, sizeof(*core->gpus));
    core->gpus[count] = *gpu;
    return core->gpu_count++;
}

int core_job_count(const struct core *core)
{
    return core->job_count;
}

int core_gpu_count(const struct core *core)
{
    return core->gpu_count;
}

struct kernel_space core_space(const struct core *core)
{
    return (struct kernel_space){core->jobs, core->gpus, core->alike,
                                 (size_t)core->job_capacity, core->relative};
}

static void reserve(struct core *core, size_t wanted)
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

static void solve_weights(struct core *core)
{
    memcpy(core->weight, core->white, core->count * sizeof(double));
    dense_solve_lower_t(core->factor, core->count, core->capacity, core->weight, 1);
}

static void solve_values(struct core *core)
{
    struct kernel_space space = core_space(core);

    for (size_t i = 0; i < core->count; i++)
        core->white[i] =
            core->values[i] - kernel_mean(&core->kernel, &space, core->cells[i]);
    dense_solve_lower(core->factor, core->count, core->capacity, core->white, 1);
    solve_weights(core);
}

static void fill_covariance(struct core *core, double jitter)
{
    struct kernel_space space = core_space(core);

    for (size_t i = 0; i < core->count; i++) {
        double *row = core->factor + i * core->capacity;

        for (size_t j = 0; j <= i; j++)
            row[j] = kernel_value(&core->kernel, &space, core->cells[i], core->cells[j]);
        row[i] += kernel_noise(&core->kernel, core->cells[i]) + core->extra[i] + jitter;
    }
}

/* The factor of observations that have nothing to do with each other. */
static void fill_unrelated(struct core *core)
{
    for (size_t i = 0; i < core->count; i++) {
        double *row = core->factor + i * core->capacity;

        memset(row, 0, i * sizeof(*row));
        row[i] = 1;
    }
}

static void factorize(struct core *core)
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

size_t core_observe(struct core *core, struct cell cell, double value, double extra_var)
{
    struct kernel_space space = core_space(core);
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

void core_load(struct core *core, const struct cell *cells, const double *values,
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

void core_revise(struct core *core, size_t index, double value)
{
    assert(index < core->count);
    core->values[index] = value;
    solve_values(core);
}

void core_revise_all(struct core *core, const double *values, const double *extra_var)
{
    memcpy(core->values, values, core->count * sizeof(double));
    if (!extra_var) {
        solve_values(core);
        return;
    }
    memcpy(core->extra, extra_var, core->count * sizeof(double));
    factorize(core);
}

void core_pop(struct core *core)
{
    assert(core->count > 0);
    if (--core->count == 0)
        return;
    solve_weights(core); /* rows before the last do not know of it */
}

void core_retain(struct core *core, const bool *keep)
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

void core_set_params(struct core *core, const struct kernel_params *params)
{
    core->params = *params;
    kernel_prepare(&core->kernel, params);
    for (int i = 0; i < core->job_count; i++)
        fill_alike(core, i);
    factorize(core);
}

size_t core_count(const struct core *core)
{
    return core->count;
}

struct cell core_cell(const struct core *core, size_t index)
{
    return core->cells[index];
}

double core_observed(const struct core *core, size_t index)
{
    return core->values[index];
}

double core_extra_var(const struct core *core, size_t index)
{
    return core->extra[index];
}

const struct kernel_params *core_params(const struct core *core)
{
    return &core->params;
}

const struct kernel *core_kernel(const struct core *core)
{
    return &core->kernel;
}

double core_log_root(const struct core *core)
{
    double sum = 0;

    for (size_t i = 0; i < core->count; i++)
        sum += log(core->factor[i * core->capacity + i]);
    return sum;
}
