/* conformal.c - see conformal.h */
#include "loop/refine/conformal.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

/* The default width counts as so many observations. */
#define PRIOR_WEIGHT 20.0

/* Observations of one pair that are left out together. */
#define GROUP_MAX 32

static int by_value(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

double conformal_width(double *errors, size_t count, double share)
{
    double weight = (double)count / ((double)count + PRIOR_WEIGHT);
    size_t at;

    if (count == 0)
        return CONFORMAL_NORMAL;
    qsort(errors, count, sizeof(*errors), by_value);
    at = (size_t)ceil(share * (double)(count + 1)) - 1;
    if (at >= count)
        at = count - 1;
    return weight * errors[at] + (1 - weight) * CONFORMAL_NORMAL;
}

static bool same_pair(struct cell a, struct cell b)
{
    if (a.gpu != b.gpu)
        return false;
    return (a.job == b.job && a.other == b.other) ||
           (a.job == b.other && a.other == b.job);
}

size_t conformal_errors(const struct core *core, double *errors)
{
    size_t n = core_count(core), found = 0;
    double *precision = mem_array(double, n *n + 1);
    double mean[GROUP_MAX], cov[GROUP_MAX * GROUP_MAX];

    core_precision(core, precision);
    for (size_t i = 0; i < n; i++) {
        size_t group[GROUP_MAX] = {i}, size = 1;

        for (size_t j = 0; j < n && size < GROUP_MAX; j++)
            if (j != i && same_pair(core_cell(core, i), core_cell(core, j)))
                group[size++] = j;
        if (core_leave_out(core, precision, group, size, mean, cov) == 0)
            errors[found++] = fabs(core_observed(core, i) - mean[0]) / sqrt(cov[0]);
    }
    free(precision);
    return found;
}
