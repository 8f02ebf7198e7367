/* gradcheck.c - central differences, see gradcheck.h */
#include "support/gradcheck.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

/* Below this a gradient counts as small and is compared absolutely. */
#define SMALL_GRADIENT 1e-3

static double loss_at(struct tape *tape, struct params *params, gradcheck_loss *loss,
                      void *arg, size_t at, double value)
{
    nn_real kept = params->value[at];
    double result;

    params->value[at] = (nn_real)value;
    tape_reset(tape);
    result = (double)loss(tape, params, arg)->value[0];
    params->value[at] = kept;
    return result;
}

struct gradcheck gradcheck_run(struct params *params, gradcheck_loss *loss, void *arg,
                               double step)
{
    struct gradcheck check = {0};
    struct tape *tape = tape_create();
    nn_real *grad;

    params_zero_grad(params);
    tape_backward(tape, loss(tape, params, arg));
    grad = mem_dup(params->grad, params->count, sizeof(*grad));
    for (size_t i = 0; i < params->count; i++) {
        double value = (double)params->value[i];
        double numeric = (loss_at(tape, params, loss, arg, i, value + step) -
                          loss_at(tape, params, loss, arg, i, value - step)) /
                         (2 * step);
        double size = fmax(SMALL_GRADIENT, fmax(fabs((double)grad[i]), fabs(numeric)));
        double worst = fabs((double)grad[i] - numeric) / size;

        check.largest = fmax(check.largest, fabs((double)grad[i]));
        if (!(worst <= check.worst)) {
            check.worst = worst;
            check.at = i;
            check.analytic = (double)grad[i];
            check.numeric = numeric;
        }
    }
    free(grad);
    tape_destroy(tape);
    return check;
}
