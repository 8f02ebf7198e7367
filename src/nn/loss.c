/* loss.c - losses and their gradients, see loss.h */
#include "nn/loss.h"

#include <assert.h>

/* Keep target and weight with the loss; scale becomes 1 / sum of weights. */
static void keep(struct tape *tape, struct var *loss, size_t count, const nn_real *target,
                 const nn_real *weight)
{
    double sum = weight ? 0 : (double)count;

    if (weight)
        for (size_t i = 0; i < count; i++)
            sum += (double)weight[i];
    loss->constant = tape_copy(tape, target, count);
    loss->weight = tape_copy(tape, weight, count);
    loss->scale = sum > 0 ? (nn_real)(1 / sum) : 0;
}

/* The factor of number i: its share of all weights. */
static nn_real share(const struct var *loss, size_t i)
{
    return loss->weight ? loss->scale * loss->weight[i] : loss->scale;
}

static nn_real sign(nn_real x)
{
    return (nn_real)((x > 0) - (x < 0));
}

static nn_real believed(nn_real log_width)
{
    return log_width < LOSS_MIN_LOG_WIDTH ? LOSS_MIN_LOG_WIDTH : log_width;
}

static void laplace_backward(const struct var *out);

struct var *loss_laplace(struct tape *tape, struct var *mean, struct var *log_width,
                         const nn_real *target, const nn_real *weight)
{
    struct var *out = tape_result(tape, 1, 1, laplace_backward, mean, log_width, NULL);
    double sum = 0;

    assert(mean->rows == log_width->rows && mean->cols == log_width->cols);
    keep(tape, out, var_count(mean), target, weight);
    for (size_t i = 0; i < var_count(mean); i++) {
        nn_real s = believed(log_width->value[i]);
        nn_real miss = nn_fabs(target[i] - mean->value[i]);

        sum += (double)(share(out, i) * (miss * nn_exp(-s) + s));
    }
    out->value[0] = (nn_real)sum;
    return out;
}

static void laplace_backward(const struct var *out)
{
    const struct var *mean = out->in[0], *log_width = out->in[1];

    for (size_t i = 0; i < var_count(mean); i++) {
        nn_real factor = out->grad[0] * share(out, i);
        nn_real s = believed(log_width->value[i]);
        nn_real miss = out->constant[i] - mean->value[i];
        nn_real inverse = nn_exp(-s);
        nn_real ds = 1 - nn_fabs(miss) * inverse;

        if (mean->grad)
            mean->grad[i] -= factor * sign(miss) * inverse;
        if (log_width->grad && (log_width->value[i] >= s || ds < 0))
            log_width->grad[i] += factor * ds;
    }
}

static void mse_backward(const struct var *out);

struct var *loss_mse(struct tape *tape, struct var *prediction, const nn_real *target,
                     const nn_real *weight)
{
    struct var *out = tape_result(tape, 1, 1, mse_backward, prediction, NULL, NULL);
    double sum = 0;

    keep(tape, out, var_count(prediction), target, weight);
    for (size_t i = 0; i < var_count(prediction); i++) {
        nn_real miss = prediction->value[i] - target[i];

        sum += (double)(share(out, i) * miss * miss);
    }
    out->value[0] = (nn_real)sum;
    return out;
}

static void mse_backward(const struct var *out)
{
    const struct var *x = out->in[0];

    for (size_t i = 0; i < var_count(x); i++)
        x->grad[i] += out->grad[0] * share(out, i) * 2 * (x->value[i] - out->constant[i]);
}

static void mae_backward(const struct var *out);

struct var *loss_mae(struct tape *tape, struct var *prediction, const nn_real *target,
                     const nn_real *weight)
{
    struct var *out = tape_result(tape, 1, 1, mae_backward, prediction, NULL, NULL);
    double sum = 0;

    keep(tape, out, var_count(prediction), target, weight);
    for (size_t i = 0; i < var_count(prediction); i++)
        sum += (double)(share(out, i) * nn_fabs(prediction->value[i] - target[i]));
    out->value[0] = (nn_real)sum;
    return out;
}

static void mae_backward(const struct var *out)
{
    const struct var *x = out->in[0];

    for (size_t i = 0; i < var_count(x); i++)
        x->grad[i] += out->grad[0] * share(out, i) * sign(x->value[i] - out->constant[i]);
}
