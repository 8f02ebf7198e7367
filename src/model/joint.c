/* joint.c - joint beliefs of a core: pairs_game.c plays with them */
#include "model/joint.h"

#include "base/mem.h"
#include "model/dense.h"

#include <stdlib.h>
#include <string.h>

void joint_fini(struct joint *joint)
{
    free(joint->mean);
    free(joint->cov);
    *joint = (struct joint){0};
}

void joint_of_cells(struct joint *joint, const struct gp *gp, const struct cell *cells,
                    size_t count)
{
    double *cross = mem_array(double, gp->count *count + 1);

    *joint = (struct joint){count, mem_array(double, count + 1),
                            mem_array(double, count *count + 1)};
    gp_cross(gp, cells, count, cross, joint->mean);
    dense_solve(gp->factor, gp->count, gp->capacity, false, cross, count);
    for (size_t p = 0; p < count; p++) {
        for (size_t q = 0; q < count; q++)
            joint->cov[p * count + q] =
                kernel_value(&gp->kernel, &gp->space, cells[p], cells[q]);
        joint->cov[p * count + p] += kernel_noise(&gp->kernel, cells[p]);
    }
    dense_transpose_multiply(-1, cross, count, cross, count, gp->count, 1, joint->cov);
    free(cross);
}

void joint_condition(const struct joint *joint, const size_t *seen, const double *values,
                     size_t seen_count, double *mean, double *var)
{
    size_t count = joint->count;
    double *factor = mem_array(double, seen_count *seen_count + 1);
    double *cross = mem_array(double, seen_count *count + 1);
    double *white = mem_array(double, seen_count + 1);

    for (size_t a = 0; a < seen_count; a++) {
        for (size_t b = 0; b < seen_count; b++)
            factor[a * seen_count + b] = joint->cov[seen[a] * count + seen[b]];
        factor[a * seen_count + a] += GP_VAR_MIN;
        memcpy(cross + a * count, joint->cov + seen[a] * count, count * sizeof(double));
        white[a] = values[a] - joint->mean[seen[a]];
    }
    for (size_t q = 0; q < count; q++) {
        mean[q] = joint->mean[q];
        var[q] = joint->cov[q * count + q];
    }
    if (dense_cholesky(factor, seen_count, seen_count) == 0) {
        dense_solve(factor, seen_count, seen_count, false, cross, count);
        dense_solve(factor, seen_count, seen_count, false, white, 1);
        for (size_t a = 0; a < seen_count; a++)
            for (size_t q = 0; q < count; q++) {
                mean[q] += cross[a * count + q] * white[a];
                var[q] -= cross[a * count + q] * cross[a * count + q];
            }
    }
    for (size_t q = 0; q < count; q++)
        if (var[q] < GP_VAR_MIN)
            var[q] = GP_VAR_MIN;
    free(factor);
    free(cross);
    free(white);
}
