/* gp.c - observations and their Cholesky factor: pairs.c and rates.c tell it what was
 * measured and ask it about cells that were not */
#include "model/gp.h"

#include "base/mem.h"
#include "model/dense.h"
#include "nn/gemm.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Added to a variance when rounding makes the factor fail; grows tenfold a try. */
#define JITTER_VAR 1e-6
/* More than this is no rounding: such a covariance is none, and is not mended. */
#define JITTER_MOST 1e6

struct gp *gp_create(const struct kernel_params *params, bool relative)
{
    struct gp *gp = mem_new(struct gp);

    gemm_setup();
    gp->params = *params;
    gp->space.relative = relative;
    kernel_prepare(&gp->kernel, params);
    return gp;
}

void gp_destroy(struct gp *gp)
{
    if (!gp)
        return;
    free(gp->space.jobs);
    free(gp->space.profiles);
    free(gp->space.alike);
    free(gp->space.gpus);
    vec_free(&gp->kin);
    vec_free(&gp->newest);
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
    const struct kernel_space *space = &gp->space;
    size_t jobs = space->stride, n = gp->capacity;

    copy->space.jobs = mem_dup(space->jobs, jobs, sizeof(*space->jobs));
    copy->space.profiles = mem_dup(space->profiles, jobs, sizeof(*space->profiles));
    copy->space.alike = mem_dup(space->alike, jobs * jobs, sizeof(double));
    copy->space.gpus = mem_dup(space->gpus, (size_t)gp->gpu_count, sizeof(*space->gpus));
    copy->kin.items = mem_dup(gp->kin.items, gp->kin.capacity, sizeof(int));
    copy->newest.items = mem_dup(gp->newest.items, gp->newest.capacity, sizeof(int));
    copy->cells = mem_dup(gp->cells, n, sizeof(*copy->cells));
    copy->values = mem_dup(gp->values, n, sizeof(double));
    copy->extra = mem_dup(gp->extra, n, sizeof(double));
    copy->factor = mem_dup(gp->factor, n * n, sizeof(double));
    copy->white = mem_dup(gp->white, n, sizeof(double));
    copy->weight = mem_dup(gp->weight, n, sizeof(double));
    return copy;
}

static struct kernel_job job_of(const struct gp *gp, int job)
{
    return (struct kernel_job){&gp->space.jobs[job], &gp->space.profiles[job]};
}

/* Its likeness to the jobs before it. */
static void fill_alike(struct gp *gp, int job)
{
    struct kernel_space *space = &gp->space;

    for (int i = 0; i <= job; i++) {
        double k = kernel_alike(&gp->kernel, job_of(gp, job), job_of(gp, i), i == job);

        space->alike[(size_t)job * space->stride + (size_t)i] = k;
        space->alike[(size_t)i * space->stride + (size_t)job] = k;
    }
}

static void grow_jobs(struct kernel_space *space)
{
    size_t old = space->stride, new = old ? old * 2 : 32;
    double *alike = mem_array(double, new *new);

    for (size_t i = 0; i < old; i++)
        memcpy(alike + i * new, space->alike + i * old, old * sizeof(double));
    free(space->alike);
    space->alike = alike;
    space->jobs = mem_resize(space->jobs, old, new, sizeof(*space->jobs));
    space->profiles = mem_resize(space->profiles, old, new, sizeof(*space->profiles));
    space->stride = new;
}

int gp_add_job(struct gp *gp, const struct job_trait *job)
{
    if ((size_t)gp->job_count == gp->space.stride)
        grow_jobs(&gp->space);
    gp->space.jobs[gp->job_count] = *job;
    gp->space.profiles[gp->job_count] =
        (struct rate_profile){.share = NAN, .counted = job_counters_none()};
    fill_alike(gp, gp->job_count);
    while (job->family >= (int)gp->newest.count)
        vec_push(&gp->newest, -1);
    vec_push(&gp->kin, job->family >= 0 ? gp->newest.items[job->family] : -1);
    if (job->family >= 0)
        gp->newest.items[job->family] = gp->job_count;
    return gp->job_count++;
}

/* Its likeness to all jobs. */
static void renew_alike(struct gp *gp, int job)
{
    struct kernel_space *space = &gp->space;

    for (int i = 0; i < gp->job_count; i++) {
        double k = kernel_alike(&gp->kernel, job_of(gp, job), job_of(gp, i), i == job);

        space->alike[(size_t)job * space->stride + (size_t)i] = k;
        space->alike[(size_t)i * space->stride + (size_t)job] = k;
    }
}

void gp_set_rates(struct gp *gp, int job, const double *rates)
{
    struct kernel_space *space = &gp->space;
    struct rate_profile *profile = &space->profiles[job];
    struct job_counters counted = profile->counted;

    *profile = rate_profile_of(&space->jobs[job], rates, space->gpus, gp->gpu_count);
    profile->counted = counted;
    renew_alike(gp, job);
}

void gp_set_counters(struct gp *gp, int job, const struct job_counters *counters)
{
    gp->space.profiles[job].counted = *counters;
    renew_alike(gp, job);
}

int gp_add_gpu(struct gp *gp, const struct gpu_trait *gpu)
{
    size_t count = (size_t)gp->gpu_count;

    gp->space.gpus =
        mem_resize(gp->space.gpus, count, count + 1, sizeof(*gp->space.gpus));
    gp->space.gpus[count] = *gpu;
    return gp->gpu_count++;
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
    dense_solve(gp->factor, gp->count, gp->capacity, true, gp->weight, 1);
}

void gp_revise(struct gp *gp)
{
    for (size_t i = 0; i < gp->count; i++)
        gp->white[i] = gp->values[i] - kernel_mean(&gp->kernel, &gp->space, gp->cells[i]);
    dense_solve(gp->factor, gp->count, gp->capacity, false, gp->white, 1);
    solve_weights(gp);
}

static void fill_covariance(struct gp *gp, double jitter)
{
    for (size_t i = 0; i < gp->count; i++) {
        double *row = gp->factor + i * gp->capacity;

        for (size_t j = 0; j <= i; j++)
            row[j] = kernel_value(&gp->kernel, &gp->space, gp->cells[i], gp->cells[j]);
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

void gp_refactor(struct gp *gp)
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
    gp_revise(gp);
}

size_t gp_observe(struct gp *gp, struct cell cell, double value, double extra_var)
{
    size_t n = gp->count;
    double *row, own, jitter = 0;

    assert(cell.job < gp->job_count && cell.gpu < gp->gpu_count &&
           cell.other < gp->job_count);
    reserve(gp, n + 1);
    row = gp->factor + n * gp->capacity;
    own = kernel_value(&gp->kernel, &gp->space, cell, cell) +
          kernel_noise(&gp->kernel, cell);
    do {
        for (size_t i = 0; i < n; i++)
            row[i] = kernel_value(&gp->kernel, &gp->space, cell, gp->cells[i]);
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
    gp->white[n] = (value - kernel_mean(&gp->kernel, &gp->space, cell) -
                    dense_dot(row, gp->white, n)) /
                   row[n];
    gp->count++;
    solve_weights(gp);
    return n;
}

void gp_load(struct gp *gp, const struct cell *cells, const double *values,
             const double *extra, size_t count)
{
    size_t n = gp->count;

    if (count == 0)
        return;
    reserve(gp, n + count);
    memcpy(gp->cells + n, cells, count * sizeof(*cells));
    memcpy(gp->values + n, values, count * sizeof(*values));
    memset(gp->extra + n, 0, count * sizeof(double));
    if (extra)
        memcpy(gp->extra + n, extra, count * sizeof(*extra));
    gp->count += count;
    gp_refactor(gp);
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
    gp_refactor(gp);
}

void gp_set_params(struct gp *gp, const struct kernel_params *params)
{
    gp->params = *params;
    kernel_prepare(&gp->kernel, params);
    for (int i = 0; i < gp->job_count; i++)
        fill_alike(gp, i);
    gp_refactor(gp);
}

void gp_set_units(struct gp *gp, const struct kernel_params *params)
{
    memcpy(gp->params.v + KERNEL_SPREAD, params->v + KERNEL_SPREAD,
           (KERNEL_PARAM_COUNT - KERNEL_SPREAD) * sizeof(double));
    kernel_prepare(&gp->kernel, &gp->params);
    gp_refactor(gp);
}

/* ---- what it says of cells -------------------------------------------------------- */

void gp_cross(const struct gp *gp, const struct cell *cells, size_t count, double *out,
              double *mean)
{
    for (size_t i = 0; i < gp->count; i++)
        for (size_t q = 0; q < count; q++)
            out[i * count + q] =
                kernel_value(&gp->kernel, &gp->space, gp->cells[i], cells[q]);
    for (size_t q = 0; q < count; q++)
        mean[q] = kernel_mean(&gp->kernel, &gp->space, cells[q]);
    for (size_t i = 0; i < gp->count; i++)
        for (size_t q = 0; q < count; q++)
            mean[q] += gp->weight[i] * out[i * count + q];
}

void gp_predict(const struct gp *gp, const struct cell *cells, size_t count, double *mean,
                double *var)
{
    double *cross = mem_array(double, gp->count *count + 1);

    gp_cross(gp, cells, count, cross, mean);
    if (var) {
        dense_solve(gp->factor, gp->count, gp->capacity, false, cross, count);
        for (size_t q = 0; q < count; q++)
            var[q] = kernel_value(&gp->kernel, &gp->space, cells[q], cells[q]) +
                     kernel_noise(&gp->kernel, cells[q]);
        for (size_t i = 0; i < gp->count; i++)
            for (size_t q = 0; q < count; q++)
                var[q] -= cross[i * count + q] * cross[i * count + q];
        for (size_t q = 0; q < count; q++)
            if (var[q] < GP_VAR_MIN)
                var[q] = GP_VAR_MIN;
    }
    free(cross);
}

/* How alike a job is to all jobs up to `count`, guests included. */
static double *alike_to_all(const struct gp *gp, const struct gp_guests *guests, int job)
{
    int known = gp->job_count, count = known + guests->count;
    double *row = mem_array(double, (size_t)count);
    struct kernel_job guest = {job < known ? NULL : &guests->traits[job - known], NULL};

    for (int i = 0; i < known; i++)
        row[i] = job < known ? gp->space.alike[(size_t)job * gp->space.stride + (size_t)i]
                             : kernel_alike(&gp->kernel, guest, job_of(gp, i), 0);
    if (job < known)
        guest = job_of(gp, job);
    for (int i = known; i < count; i++)
        row[i] =
            kernel_alike(&gp->kernel, guest,
                         (struct kernel_job){&guests->traits[i - known], NULL}, i == job);
    return row;
}

void gp_predict_guest(const struct gp *gp, const struct gp_guests *guests,
                      struct cell cell, double *mean, double *var)
{
    double *row = alike_to_all(gp, guests, cell.job);
    double *other = alike_to_all(gp, guests, cell.other);
    double *cross = mem_array(double, gp->count + 1);

    assert(gp->space.relative && cell.other >= 0);
    *mean = kernel_mean(&gp->kernel, &gp->space, cell);
    for (size_t i = 0; i < gp->count; i++) {
        cross[i] = kernel_pair_value(&gp->kernel, cell, gp->cells[i], row, other);
        *mean += gp->weight[i] * cross[i];
    }
    *var = kernel_pair_value(&gp->kernel, cell, cell, row, other) +
           kernel_noise(&gp->kernel, cell);
    dense_solve(gp->factor, gp->count, gp->capacity, false, cross, 1);
    for (size_t i = 0; i < gp->count; i++)
        *var -= cross[i] * cross[i];
    *var = *var < GP_VAR_MIN ? GP_VAR_MIN : *var;
    free(row);
    free(other);
    free(cross);
}

void gp_leave_one_out(const struct gp *gp, size_t which, double *mean, double *var)
{
    double *column = mem_array(double, gp->count + 1), precision = 0;

    column[which] = 1;
    dense_solve(gp->factor, gp->count, gp->capacity, false, column, 1);
    for (size_t i = which; i < gp->count; i++)
        precision += column[i] * column[i];
    free(column);
    *var = fmax(1 / precision, GP_VAR_MIN);
    *mean = gp->values[which] - gp->weight[which] * *var;
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

/* ---- one job and many others at once ----------------------------------------------- */

/* Add observation o to the sums of every GPU: level (gpus), sums (gpus, jobs). */
static void add_observation(const struct gp *gp, int job, bool effect, size_t o,
                            double *level, double *sums)
{
    const struct kernel *k = &gp->kernel;
    struct cell seen = gp->cells[o];
    const double *row = gp->space.alike + (size_t)job * gp->space.stride;
    int mine = effect ? seen.other : seen.job, theirs = effect ? seen.job : seen.other;
    double by_mine = effect ? k->vb : k->va, by_theirs = effect ? k->va : k->vb;
    double weight = gp->weight[o];

    for (int g = 0; g < gp->gpu_count; g++) {
        bool same = seen.gpu == g;
        double *sum = sums + (size_t)g * (size_t)gp->job_count;
        double spread = weight * k->spread[g] * k->spread[seen.gpu];
        double share = spread * (same ? 1 : k->share_g);

        level[g] += spread * k->vm * (same ? 1 : k->share_m) +
                    share * (by_mine * row[mine] + k->vab * row[theirs]);
        sum[theirs] +=
            share * by_theirs + spread * k->vc * (same ? 1 : k->share_c) * row[mine];
        sum[mine] += share * k->vab;
    }
}

void gp_predict_row(const struct gp *gp, int job, bool effect, int first, size_t count,
                    double *out)
{
    size_t jobs = (size_t)gp->job_count, gpus = (size_t)gp->gpu_count;
    double *level = mem_array(double, gpus + 1);
    double *sums = mem_array(double, gpus *jobs + 1);
    double *all = mem_array(double, gpus *jobs + 1);

    assert(gp->space.relative);
    for (size_t g = 0; g < gpus; g++)
        level[g] = gp->kernel.m0 + gp->kernel.level[g];
    for (size_t o = 0; o < gp->count; o++)
        add_observation(gp, job, effect, o, level, sums);
    /* The whole job table, in place: gathering the asked columns costs more. */
    dense_multiply_symmetric(sums, gp->space.alike, gp->space.stride, gpus, jobs, all);
    for (size_t q = 0; q < count; q++)
        for (size_t g = 0; g < gpus; g++)
            out[q * gpus + g] = all[g * jobs + (size_t)first + q] + level[g];
    free(level);
    free(sums);
    free(all);
}
