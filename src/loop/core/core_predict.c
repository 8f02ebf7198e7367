/* core_predict.c - what the correlation core says of cells, see core.h */
#include "loop/core/core.h"

#include "base/mem.h"
#include "loop/core/core_state.h"
#include "loop/core/dense.h"

#include <stdlib.h>
#include <string.h>

/* A predictive variance below this is rounding, not knowledge. */
#define VAR_MIN 1e-8

/* out (observations, cells) */
static void cross_covariance(const struct core *core, const struct cell *cells,
                             size_t count, double *out)
{
    struct kernel_space space = core_space(core);

    for (size_t i = 0; i < core->count; i++)
        for (size_t q = 0; q < count; q++)
            out[i * count + q] =
                kernel_value(&core->kernel, &space, core->cells[i], cells[q]);
}

static void means_from(const struct core *core, const struct cell *cells, size_t count,
                       const double *cross, double *mean)
{
    struct kernel_space space = core_space(core);

    for (size_t q = 0; q < count; q++)
        mean[q] = kernel_mean(&core->kernel, &space, cells[q]);
    for (size_t i = 0; i < core->count; i++)
        for (size_t q = 0; q < count; q++)
            mean[q] += core->weight[i] * cross[i * count + q];
}

void core_predict(const struct core *core, const struct cell *cells, size_t count,
                  double *mean, double *var)
{
    struct kernel_space space = core_space(core);
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

void core_posterior(const struct core *core, const struct cell *cells, size_t count,
                    double *mean, double *cov)
{
    struct kernel_space space = core_space(core);
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

void core_precision(const struct core *core, double *precision)
{
    dense_inverse(core->factor, core->count, core->capacity, precision);
}

int core_leave_out(const struct core *core, const double *precision, const size_t *which,
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

void core_condition(const double *mean, const double *cov, size_t count,
                    const size_t *seen, const double *values, size_t seen_count,
                    double *mean_out, double *var_out)
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
