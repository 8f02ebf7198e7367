/* adam.c - the optimizer: the trainer in model/stat_network.c takes a step with it after
 * each mlp_backward() */
#include "nn/adam.h"

#include "base/mem.h"
#include "nn/clones.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#define BETA1   0.9   /* what stays of the first moment in a step, */
#define BETA2   0.999 /* and of the second */
#define EPSILON 1e-8

struct adam {
    struct adam_options options;
    nn_real *mean;   /* (count) first moment */
    nn_real *square; /* (count) second moment */
    size_t count;
    long steps; /* taken */
};

struct adam *adam_create(const struct params *params, struct adam_options options)
{
    struct adam *adam = mem_new(struct adam);

    adam->options = options;
    adam->count = params->count;
    adam->mean = mem_array(nn_real, params->count);
    adam->square = mem_array(nn_real, params->count);
    return adam;
}

void adam_destroy(struct adam *adam)
{
    if (!adam)
        return;
    free(adam->mean);
    free(adam->square);
    free(adam);
}

double adam_rate(const struct adam *adam)
{
    const struct adam_options *o = &adam->options;
    double done;

    if (o->total_steps <= 0)
        return o->learning_rate;
    done = fmin(1, (double)adam->steps / (double)o->total_steps);
    return o->learning_rate * (0.5 * (1 + cos(M_PI * done)));
}

/* Squared length of the gradient; eight partial sums so that it runs in vectors.  A
 * number that is not finite, or whose square overflows, makes the sum so. */
CLONES static double squared_norm(const nn_real *grad, size_t count)
{
    nn_real part[8] = {0};
    double sum = 0;
    size_t i = 0;

    for (; i + 8 <= count; i += 8)
        for (size_t j = 0; j < 8; j++)
            part[j] += grad[i + j] * grad[i + j];
    for (; i < count; i++)
        sum += (double)grad[i] * (double)grad[i];
    for (size_t j = 0; j < 8; j++)
        sum += (double)part[j];
    return sum;
}

/* One pass over everything; scale is what clipping leaves of the gradient. */
CLONES static void move(const struct adam *adam, struct params *params, double rate,
                        nn_real scale)
{
    nn_real b1 = (nn_real)BETA1, b2 = (nn_real)BETA2;
    nn_real c1 = (nn_real)(1 - BETA1), c2 = (nn_real)(1 - BETA2);
    double unbias2 = 1 - pow(BETA2, (double)adam->steps);
    nn_real step = (nn_real)(rate / (1 - pow(BETA1, (double)adam->steps)));
    nn_real unbias = (nn_real)(1 / sqrt(unbias2));
    nn_real epsilon = (nn_real)EPSILON;
    nn_real *restrict mean = adam->mean, *restrict square = adam->square;
    nn_real *restrict value = params->value, *restrict grad = params->grad;

    for (size_t i = 0; i < adam->count; i++) {
        nn_real g = grad[i] * scale;
        nn_real m = b1 * mean[i] + c1 * g;
        nn_real v = b2 * square[i] + c2 * g * g;

        mean[i] = m;
        square[i] = v;
        value[i] -= step * m / (nn_sqrt(v) * unbias + epsilon);
        grad[i] = 0;
    }
}

bool adam_step(struct adam *adam, struct params *params, double loss)
{
    double norm = sqrt(squared_norm(params->grad, params->count));
    double rate = adam_rate(adam);
    double scale = 1;

    assert(params->count == adam->count);
    if (!isfinite(loss) || !isfinite(norm)) {
        params_zero_grad(params);
        return false;
    }
    if (adam->options.clip_norm > 0 && norm > adam->options.clip_norm)
        scale = adam->options.clip_norm / norm;
    adam->steps++;
    move(adam, params, rate, (nn_real)scale);
    return true;
}
