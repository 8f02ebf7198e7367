/* core_row.c - one job beside many others at once, see core_predict_row in core.h
 *
 * For a fixed job the mean is linear in the kernels between the asked co-runners and the
 * jobs that were ever observed.  Summing the weights of all observations by those jobs
 * first leaves a few sums of rows of the job table instead of a kernel for each (cell,
 * observation).
 */
#include "loop/core/core.h"

#include "base/mem.h"
#include "loop/core/core_state.h"
#include "loop/core/dense.h"

#include <stdlib.h>

/* Add observation o to the sums of every GPU: level (gpus), sums (gpus, jobs). */
static void add_observation(const struct core *core, int job, size_t o, double *level,
                            double *sums)
{
    const struct kernel *k = &core->kernel;
    struct kernel_space space = core_space(core);
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

void core_predict_row(const struct core *core, int job, const int *others, size_t count,
                      double *out)
{
    struct kernel_space space = core_space(core);
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
