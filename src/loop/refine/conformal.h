/* conformal.h - intervals whose stated 90 % is 90 %
 *
 * A model's own variance is only as good as the model.  What it says of observations
 * when they are left out, against what they were, gives the factor to put on it. */
#ifndef CORGI_LOOP_REFINE_CONFORMAL_H
#define CORGI_LOOP_REFINE_CONFORMAL_H

#include <stddef.h>

/* The share-quantile of the given errors, with NORMAL_90_SHORT blended in that
 * counts as some errors: few observations move it little.  Sorts the errors. */
double conformal_width(double *errors, size_t count, double share);

/* For a group never seen: errors come in groups (0 .. groups - 1) that differ, so the
 * quantile is chosen such that each group's errors lie within that of the others as often
 * as asked for. */
double conformal_fair_width(const double *errors, const int *group, size_t count,
                            int groups, double share);

#endif
