/* kernel_fit.h - adapt the parameters of the correlation core to what was observed
 *
 * Marginal likelihood by Adam, with a pull towards the values it started from: the
 * shipped ones, fitted on the synthetic world, stay where data say nothing. */
#ifndef CORGI_MODEL_KERNEL_FIT_H
#define CORGI_MODEL_KERNEL_FIT_H

#include "model/gp.h"

/* Negative log marginal likelihood an observation at these parameters, and its gradient
 * (unless NULL).  Infinite when the covariance is not positive definite. */
double kernel_fit_loss(const struct gp *core, const struct kernel_params *params,
                       double gradient[KERNEL_PARAM_COUNT]);

struct kernel_fit_options {
    int steps;
    double rate;        /* of Adam */
    double pull;        /* weight of the squared distance from `from` */
    size_t max_rows;    /* fit on at most so many observations, evenly spread; 0: all */
    const bool *frozen; /* (KERNEL_PARAM_COUNT) parameters that stay; NULL: none */
};

/* Parameters after some steps from `from`; the core itself is left as it is. */
struct kernel_params kernel_fit_params(const struct gp *core,
                                       const struct kernel_params *from,
                                       const struct kernel_fit_options *options);

/* Adam over kernel parameters, for training over many worlds. */
struct kernel_fit_adam {
    double m[KERNEL_PARAM_COUNT], v[KERNEL_PARAM_COUNT];
    int steps;
};
void kernel_fit_adam_step(struct kernel_fit_adam *adam, struct kernel_params *params,
                          const double gradient[KERNEL_PARAM_COUNT], double rate);

#endif
