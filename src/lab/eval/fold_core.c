/* fold_core.c - the Gaussian process on a fold: eval_product.c asks it */
#include "lab/eval/fold_core.h"

#include "base/mem.h"
#include "model/dense.h"
#include "model/kernel_fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Parameters are adapted on at most so many cells of the catalogue: a step costs n^3. */
#define FIT_ROWS  300
#define FIT_STEPS 150

/* Cells of the catalogue that are used, for the same reason: of larger ones pairs drawn
 * at random. */
#define CATALOGUE_MAX 2000

struct joint { /* distribution of the cells of one job, kept for many draws */
    int job;   /* -1: none */
    size_t count;
    double *mean; /* (count) */
    double *cov;  /* (count, count) */
    bool *known;  /* (count) false: not among the observations */
};

struct fold_core {
    const struct fold *fold;
    struct gp *core;
    double *precision;    /* (n, n) of the observations; made when first rehearsed */
    struct joint held;    /* of a held-out job */
    struct joint *inside; /* (jobs) of jobs of the catalogue, made when first asked for */
};

/* Both directions of a pair are in or out together. */
static bool in_sample(const struct fold *fold, struct cell cell, size_t room)
{
    uint64_t low = (uint64_t)(cell.job < cell.other ? cell.job : cell.other);
    uint64_t high = (uint64_t)(cell.job < cell.other ? cell.other : cell.job);
    uint64_t draw = rng_mix(rng_mix(low, high), rng_mix((uint64_t)cell.gpu, fold->seed));

    return room <= CATALOGUE_MAX || draw % room < CATALOGUE_MAX;
}

static void load_catalogue(struct fold_core *f)
{
    struct fold_cells all = fold_catalogue(f->fold, 0);
    size_t n = (size_t)f->fold->train_count, used = 0;
    size_t room = n * n * (size_t)f->fold->table->gpus;

    for (size_t i = 0; i < all.count; i++)
        if (in_sample(f->fold, all.cells[i], room)) {
            all.cells[used] = all.cells[i];
            all.values[used++] = all.values[i];
        }
    gp_load(f->core, all.cells, all.values, NULL, used);
    free(all.cells);
    free(all.values);
}

struct fold_core *fold_core_create(const struct fold *fold)
{
    const struct kernel_fit_options how = {
        .steps = FIT_STEPS, .rate = 0.08, .pull = 0.0003, .max_rows = FIT_ROWS};
    struct fold_core *f = mem_new(struct fold_core);
    const struct measured *t = fold->table;
    struct kernel_params params;

    kernel_default(&params);
    f->fold = fold;
    f->held.job = -1;
    f->inside = mem_array(struct joint, (size_t)t->jobs + 1);
    for (int j = 0; j < t->jobs; j++)
        f->inside[j].job = -1;
    f->core = gp_create(&params, true);
    for (int j = 0; j < t->jobs; j++)
        gp_add_job(f->core, &t->job[j]);
    for (int g = 0; g < t->gpus; g++)
        gp_add_gpu(f->core, &t->gpu[g]);
    load_catalogue(f);
    if (fold->fit && fold->fit->known)
        params = fold->fit->params;
    else
        params = kernel_fit_params(f->core, &params, &how);
    if (fold->fit)
        *fold->fit = (struct fold_fit){true, params};
    gp_set_params(f->core, &params);
    return f;
}

static void joint_fini(struct joint *joint)
{
    free(joint->mean);
    free(joint->cov);
    free(joint->known);
}

static void joint_reset(struct joint *joint, int job, size_t count)
{
    joint_fini(joint);
    joint->job = job;
    joint->count = count;
    joint->mean = mem_array(double, count + 1);
    joint->cov = mem_array(double, count *count + 1);
    joint->known = mem_array(bool, count + 1);
}

void fold_core_destroy(struct fold_core *f)
{
    if (!f)
        return;
    gp_destroy(f->core);
    free(f->precision);
    joint_fini(&f->held);
    for (int j = 0; j < f->fold->table->jobs; j++)
        joint_fini(&f->inside[j]);
    free(f->inside);
    free(f);
}

void fold_core_posterior(const struct gp *gp, const struct cell *cells, size_t count,
                         double *mean, double *cov)
{
    double *cross = mem_array(double, gp->count *count + 1);

    gp_cross(gp, cells, count, cross, mean);
    dense_solve(gp->factor, gp->count, gp->capacity, false, cross, count);
    for (size_t p = 0; p < count; p++) {
        for (size_t q = 0; q < count; q++)
            cov[p * count + q] =
                kernel_value(&gp->kernel, &gp->space, cells[p], cells[q]);
        cov[p * count + p] += kernel_noise(&gp->kernel, cells[p]);
    }
    dense_transpose_multiply(-1, cross, count, cross, count, gp->count, 1, cov);
    free(cross);
}

void fold_core_condition(const double *mean, const double *cov, size_t count,
                         const size_t *seen, const double *values, size_t seen_count,
                         double *mean_out, double *var_out)
{
    double *factor = mem_array(double, seen_count *seen_count + 1);
    double *cross = mem_array(double, seen_count *count + 1);
    double *white = mem_array(double, seen_count + 1);

    for (size_t a = 0; a < seen_count; a++) {
        for (size_t b = 0; b < seen_count; b++)
            factor[a * seen_count + b] = cov[seen[a] * count + seen[b]];
        factor[a * seen_count + a] += GP_VAR_MIN;
        memcpy(cross + a * count, cov + seen[a] * count, count * sizeof(double));
        white[a] = values[a] - mean[seen[a]];
    }
    for (size_t q = 0; q < count; q++) {
        mean_out[q] = mean[q];
        var_out[q] = cov[q * count + q];
    }
    if (dense_cholesky(factor, seen_count, seen_count) == 0) {
        dense_solve(factor, seen_count, seen_count, false, cross, count);
        dense_solve(factor, seen_count, seen_count, false, white, 1);
        for (size_t a = 0; a < seen_count; a++)
            for (size_t q = 0; q < count; q++) {
                mean_out[q] += cross[a * count + q] * white[a];
                var_out[q] -= cross[a * count + q] * cross[a * count + q];
            }
    }
    for (size_t q = 0; q < count; q++)
        if (var_out[q] < GP_VAR_MIN)
            var_out[q] = GP_VAR_MIN;
    free(factor);
    free(cross);
    free(white);
}

static void condition(const struct fold *fold, const struct joint *joint, int job,
                      const size_t *seen, size_t seen_count, struct blend_said *said)
{
    double *values = mem_array(double, seen_count + 1);
    double *mean = mem_array(double, joint->count + 1);
    double *var = mem_array(double, joint->count + 1);

    for (size_t i = 0; i < seen_count; i++)
        values[i] = fold_value(fold, job, seen[i]);
    fold_core_condition(joint->mean, joint->cov, joint->count, seen, values, seen_count,
                        mean, var);
    for (size_t q = 0; q < joint->count; q++)
        said[q].core = (struct blend_belief){mean[q], sqrt(var[q])};
    free(values);
    free(mean);
    free(var);
}

void fold_core_predict(struct fold_core *f, int job, const size_t *seen,
                       size_t seen_count, struct blend_said *said)
{
    size_t count = 2 * fold_half(f->fold);

    if (f->held.job != job) {
        struct cell *cells = mem_array(struct cell, count + 1);

        joint_reset(&f->held, job, count);
        for (size_t q = 0; q < count; q++)
            cells[q] = fold_cell(f->fold, job, q);
        fold_core_posterior(f->core, cells, count, f->held.mean, f->held.cov);
        free(cells);
    }
    condition(f->fold, &f->held, job, seen, seen_count, said);
}

/* Is this job one that the inner fold holds out? */
static bool held_out(const struct fold *inner, int job)
{
    for (int i = 0; i < inner->test_count; i++)
        if (inner->test[i] == job)
            return true;
    return false;
}

/* Number of an observed cell among those of a held-out job; -1 when it is none. */
static long cell_number(const struct fold *inner, int job, struct cell cell)
{
    int other = cell.job == job ? cell.other : cell.job;
    size_t half = fold_half(inner), n = (size_t)inner->train_count;

    if (cell.job != job && cell.other != job)
        return -1;
    for (size_t i = 0; i < n; i++)
        if (inner->train[i] == other)
            return (long)((cell.job == job ? 0 : half) + (size_t)cell.gpu * n + i);
    return -1;
}

/* Take the part that belongs to one job; cells never measured stay uncorrelated. */
static void joint_pick(struct fold_core *f, const struct fold *inner, int job,
                       const size_t *which, size_t count, const double *mean,
                       const double *cov)
{
    struct joint *joint = &f->inside[job];
    long *number = mem_array(long, count + 1);

    joint_reset(joint, job, 2 * fold_half(inner));
    for (size_t q = 0; q < joint->count; q++)
        joint->cov[q * joint->count + q] = 1;
    for (size_t a = 0; a < count; a++)
        number[a] = cell_number(inner, job, f->core->cells[which[a]]);
    for (size_t a = 0; a < count; a++) {
        if (number[a] < 0)
            continue;
        joint->mean[number[a]] = mean[a];
        joint->known[number[a]] = true;
        for (size_t b = 0; b < count; b++)
            if (number[b] >= 0)
                joint->cov[(size_t)number[a] * joint->count + (size_t)number[b]] =
                    cov[a * count + b];
    }
    free(number);
}

/* The joint distribution of a catalogue job's cells without all observations that touch
 * what the inner fold holds out. */
static int rehearse(struct fold_core *f, const struct fold *inner, int job)
{
    size_t n = f->core->count, count = 0;
    size_t *which = mem_array(size_t, n + 1);
    double *mean = mem_array(double, n + 1), *cov = NULL;
    int rc = -1;

    for (size_t i = 0; i < n; i++) {
        struct cell c = f->core->cells[i];

        if (held_out(inner, c.job) || held_out(inner, c.other))
            which[count++] = i;
    }
    cov = mem_array(double, count *count + 1);
    if (gp_leave_out(f->core, f->precision, which, count, mean, cov) < 0)
        goto done;
    joint_pick(f, inner, job, which, count, mean, cov);
    rc = 0;
done:
    free(which);
    free(mean);
    free(cov);
    return rc;
}

int fold_core_rehearse(struct fold_core *f, const struct fold *inner, int job,
                       const size_t *seen, size_t seen_count, struct blend_said *said)
{
    size_t n = f->core->count;

    if (!f->precision) {
        f->precision = mem_array(double, n *n + 1);
        gp_precision(f->core, f->precision);
    }
    if (f->inside[job].job != job && rehearse(f, inner, job) < 0)
        return -1;
    condition(inner, &f->inside[job], job, seen, seen_count, said);
    for (size_t q = 0; q < f->inside[job].count; q++)
        if (!f->inside[job].known[q])
            said[q].core.mean = NAN;
    return 0;
}
