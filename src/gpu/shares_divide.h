/* shares_divide.h - one group's energy among idle and its jobs, by a fit
 *
 * Idle gets its watts first, the jobs divide the rest by theirs; whole microjoules, so
 * that the parts are the whole. */
#ifndef CORGI_GPU_SHARES_DIVIDE_H
#define CORGI_GPU_SHARES_DIVIDE_H

#include "gpu/shares_fit.h"

struct shares_division {
    int64_t parts[GPU_SHARES_MAX_TOGETHER + 1];  /* idle first, then as in the group */
    double misfits[GPU_SHARES_MAX_TOGETHER + 1]; /* joules nobody can tell whose */
    double meters[GPU_SHARES_MAX_TOGETHER + 1];  /* joules the meter may be off */
    double dynamic;                              /* joules above idle */
    double sum;                                  /* of the jobs' fitted watts */
};

void shares_divide(const struct shares_group *g, const struct shares_fit *fit,
                   struct shares_division *d);

/* How unsure a sum of parts is.  An error of the fit leans the same way in every group,
 * so slopes are summed before they become an error; what a set drew less or more than its
 * jobs' sum differs from set to set, so squares are; the meter is off in one direction.
 */
struct shares_error {
    double slope[SHARES_TERMS];
    double misfit2;
    double meter;
};

/* Add part i of the division: 0 is idle, then the group's jobs. */
void shares_error_add(struct shares_error *error, const struct shares_group *g,
                      const struct shares_fit *fit, const struct shares_division *d,
                      int part);
double shares_error_joules(const struct shares_error *error,
                           const struct shares_fit *fit);

#endif
