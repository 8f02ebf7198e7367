/* kernel_fit.h - adapt the parameters of the correlation core to what was observed
 *
 * Marginal likelihood by Adam, with a pull towards the values it started from: the
 * shipped ones, fitted on the synthetic world, stay where data say nothing. */
#pragma once

#include "model/gp.h"

/* Negative log marginal likelihood an observation at the core's parameters, and its
 * gradient (KERNEL_PARAM_COUNT, unless NULL).  Not finite when the covariance is none. */
double kernel_fit_loss(const struct gp *core, double *gradient);

struct kernel_fit_options {
    int steps;
    double rate; /* of Adam */
    double pull; /* weight of the squared distance from `from`, */
    /* or (KERNEL_PARAM_COUNT) how far each is believed to be from it, 0: it stays.  Then
     * the result is the most probable one after the observations. */
    const double *prior_sd;
    size_t max_rows;    /* fit on at most so many observations, evenly spread; 0: all */
    const bool *frozen; /* (KERNEL_PARAM_COUNT) parameters that stay; NULL: none */
};

/* Parameters after some steps from `from`; the core itself is left as it is. */
struct kernel_params kernel_fit_params(const struct gp *core,
                                       const struct kernel_params *from,
                                       const struct kernel_fit_options *options);
