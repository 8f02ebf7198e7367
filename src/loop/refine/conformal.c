/* conformal.c - see conformal.h */
#include "loop/refine/conformal.h"

#include <math.h>
#include <stdlib.h>

/* The default width counts as so many observations. */
#define PRIOR_WEIGHT 20.0

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
