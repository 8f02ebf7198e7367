/* gradcheck.h - gradients against finite differences
 *
 * Meaningful in the double build (nn/params.h).  Every operation and block has a test
 * that runs it. */
#ifndef CORGI_NN_GRADCHECK_H
#define CORGI_NN_GRADCHECK_H

#include "nn/tape.h"

struct gradcheck {
    double worst;    /* largest |analytic - numeric| / max(|analytic|, |numeric|, 1e-3) */
    double largest;  /* largest |analytic|: 0 means nothing was checked */
    size_t at;       /* where the worst is, in params->value */
    double analytic; /* there */
    double numeric;
};

/* Build the loss on a fresh tape; must depend on nothing but params and arg. */
typedef struct var *gradcheck_loss(struct tape *tape, struct params *params, void *arg);

/* Compare every gradient of the loss with central differences of this step (1e-5). */
struct gradcheck gradcheck_run(struct params *params, gradcheck_loss *loss, void *arg,
                               double step);

#endif
