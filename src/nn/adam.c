/* adam.c - the optimizer, see adam.h */
#include "nn/adam.h"

#include "base/mem.h"
#include "nn/clones.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct adam {
    struct adam_options options;
    nn_real *mean;   /* (count) first moment */
    nn_real *square; /* (count) second moment */
    size_t count;
    long steps, skipped;
};

static double or_default(double value, double otherwise)
{
    return value != 0 ? value : otherwise;
}

void adam_restart(struct adam *adam, struct adam_options options)
{
    options.learning_rate = or_default(options.learning_rate, 1e-3);
    options.beta1 = or_default(options.beta1, 0.9);
    options.beta2 = or_default(options.beta2, 0.999);
    options.epsilon = or_default(options.epsilon, 1e-8);
    adam->options = options;
    adam->steps = 0;
    memset(adam->mean, 0, adam->count * sizeof(*adam->mean));
    memset(adam->square, 0, adam->count * sizeof(*adam->square));
}

struct adam *adam_create(const struct params *params, struct adam_options options)
{
    struct adam *adam = mem_new(struct adam);

    adam->count = params->count;
    adam->mean = mem_array(nn_real, params->count);
    adam->square = mem_array(nn_real, params->count);
    adam_restart(adam, options);
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

long adam_steps(const struct adam *adam)
{
    return adam->steps;
}

long adam_skipped(const struct adam *adam)
{
    return adam->skipped;
}

double adam_rate(const struct adam *adam)
{
    const struct adam_options *o = &adam->options;
    double done, share;

    if (o->total_steps <= 0)
        return o->learning_rate;
    done = fmin(1, (double)adam->steps / (double)o->total_steps);
    share = 0.5 * (1 + cos(M_PI * done));
    return o->learning_rate * (o->final_share + (1 - o->final_share) * share);
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
    const struct adam_options *o = &adam->options;
    nn_real b1 = (nn_real)o->beta1, b2 = (nn_real)o->beta2;
    nn_real c1 = (nn_real)(1 - o->beta1), c2 = (nn_real)(1 - o->beta2);
    double unbias2 = 1 - pow(o->beta2, (double)adam->steps);
    nn_real step = (nn_real)(rate / (1 - pow(o->beta1, (double)adam->steps)));
    nn_real unbias = (nn_real)(1 / sqrt(unbias2));
    nn_real epsilon = (nn_real)o->epsilon;
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
        adam->skipped++;
        return false;
    }
    if (adam->options.clip_norm > 0 && norm > adam->options.clip_norm)
        scale = adam->options.clip_norm / norm;
    adam->steps++;
    move(adam, params, rate, (nn_real)scale);
    return true;
}
