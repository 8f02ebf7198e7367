/* rowwise.c - softmax, layer norm, mean over tokens, see rowwise.h */
#include "lab/nn/rowwise.h"

#include <assert.h>
#include <string.h>

/* Keeps the variance of a constant row from being divided by. */
#define LAYER_NORM_EPSILON ((nn_real)1e-5)

static nn_real largest(const nn_real *x, const nn_real *mask, size_t count)
{
    nn_real best = 0;
    bool any = false;

    for (size_t j = 0; j < count; j++)
        if ((!mask || mask[j] != 0) && (!any || x[j] > best)) {
            best = x[j];
            any = true;
        }
    return best;
}

static void softmax_row(nn_real *y, const nn_real *x, const nn_real *mask, size_t count)
{
    nn_real top = largest(x, mask, count);
    nn_real sum = 0;

    for (size_t j = 0; j < count; j++) {
        y[j] = mask && mask[j] == 0 ? 0 : nn_exp(x[j] - top);
        sum += y[j];
    }
    if (sum > 0)
        for (size_t j = 0; j < count; j++)
            y[j] /= sum;
}

static void softmax_backward(const struct var *out);

struct var *rowwise_softmax(struct tape *tape, struct var *x, const nn_real *mask,
                            int groups)
{
    struct var *out =
        tape_result(tape, x->rows, x->cols, softmax_backward, x, NULL, NULL);
    size_t cols = (size_t)x->cols;
    size_t rows = (size_t)(x->rows / groups); /* of a group */

    assert(x->rows % groups == 0);
    for (size_t i = 0; i < (size_t)x->rows; i++)
        softmax_row(out->value + i * cols, x->value + i * cols,
                    mask ? mask + i / rows * cols : NULL, cols);
    return out;
}

/* Masked columns have y = 0, so nothing reaches them. */
static void softmax_backward(const struct var *out)
{
    size_t cols = (size_t)out->cols;

    for (size_t i = 0; i < (size_t)out->rows; i++) {
        const nn_real *y = out->value + i * cols, *dy = out->grad + i * cols;
        nn_real *dx = out->in[0]->grad + i * cols;
        nn_real mean = 0;

        for (size_t j = 0; j < cols; j++)
            mean += y[j] * dy[j];
        for (size_t j = 0; j < cols; j++)
            dx[j] += y[j] * (dy[j] - mean);
    }
}

/* Write the row with mean 0 and variance 1; returns 1 / its former deviation. */
static nn_real standardize(nn_real *to, const nn_real *x, size_t count)
{
    nn_real mean = 0, square = 0, inverse;

    for (size_t j = 0; j < count; j++)
        mean += x[j];
    mean /= (nn_real)count;
    for (size_t j = 0; j < count; j++)
        square += (x[j] - mean) * (x[j] - mean);
    inverse = 1 / nn_sqrt(square / (nn_real)count + LAYER_NORM_EPSILON);
    for (size_t j = 0; j < count; j++)
        to[j] = (x[j] - mean) * inverse;
    return inverse;
}

static void layer_norm_backward(const struct var *out);

/* saved: the standardized rows (rows, cols), then 1 / deviation (rows). */
struct var *rowwise_layer_norm(struct tape *tape, struct var *x, struct var *gain,
                               struct var *shift)
{
    struct var *out =
        tape_result(tape, x->rows, x->cols, layer_norm_backward, x, gain, shift);
    size_t cols = (size_t)x->cols;
    nn_real *inverse;

    assert(gain->rows == 1 && gain->cols == x->cols);
    assert(shift->rows == 1 && shift->cols == x->cols);
    out->saved = tape_reals(tape, var_count(x) + (size_t)x->rows);
    inverse = out->saved + var_count(x);
    for (size_t i = 0; i < (size_t)x->rows; i++) {
        const nn_real *unit = out->saved + i * cols;

        inverse[i] = standardize(out->saved + i * cols, x->value + i * cols, cols);
        for (size_t j = 0; j < cols; j++)
            out->value[i * cols + j] = unit[j] * gain->value[j] + shift->value[j];
    }
    return out;
}

static void layer_norm_row_backward(const struct var *out, size_t i);

static void layer_norm_backward(const struct var *out)
{
    const struct var *gain = out->in[1], *shift = out->in[2];
    size_t cols = (size_t)out->cols;

    for (size_t i = 0; i < (size_t)out->rows; i++) {
        const nn_real *unit = out->saved + i * cols, *dy = out->grad + i * cols;

        if (gain->grad)
            for (size_t j = 0; j < cols; j++)
                gain->grad[j] += unit[j] * dy[j];
        if (shift->grad)
            for (size_t j = 0; j < cols; j++)
                shift->grad[j] += dy[j];
        if (out->in[0]->grad)
            layer_norm_row_backward(out, i);
    }
}

/* To x: what moves the row's mean or its deviation is taken out again. */
static void layer_norm_row_backward(const struct var *out, size_t i)
{
    const nn_real *gain = out->in[1]->value;
    size_t cols = (size_t)out->cols;
    const nn_real *unit = out->saved + i * cols, *dy = out->grad + i * cols;
    nn_real *dx = out->in[0]->grad + i * cols;
    nn_real inverse = out->saved[var_count(out) + i];
    nn_real mean = 0, along = 0;

    for (size_t j = 0; j < cols; j++) {
        mean += dy[j] * gain[j];
        along += dy[j] * gain[j] * unit[j];
    }
    mean /= (nn_real)cols;
    along /= (nn_real)cols;
    for (size_t j = 0; j < cols; j++)
        dx[j] += inverse * (dy[j] * gain[j] - mean - unit[j] * along);
}

static void masked_mean_backward(const struct var *out);

/* weight: the share of every row in its sequence's mean (groups * length). */
struct var *rowwise_masked_mean(struct tape *tape, struct var *x, const nn_real *mask,
                                int groups)
{
    struct var *out =
        tape_result(tape, groups, x->cols, masked_mean_backward, x, NULL, NULL);
    size_t length = (size_t)(x->rows / groups), cols = (size_t)x->cols;
    nn_real *share = tape_reals(tape, (size_t)x->rows);

    assert(x->rows % groups == 0);
    memset(out->value, 0, var_count(out) * sizeof(*out->value));
    for (size_t g = 0; g < (size_t)groups; g++) {
        nn_real *mean = out->value + g * cols;
        size_t tokens = 0;

        for (size_t i = g * length; i < (g + 1) * length; i++)
            tokens += !mask || mask[i] != 0;
        for (size_t i = g * length; i < (g + 1) * length; i++) {
            share[i] = !mask || mask[i] != 0 ? 1 / (nn_real)tokens : 0;
            for (size_t j = 0; j < cols; j++)
                mean[j] += share[i] * x->value[i * cols + j];
        }
    }
    out->weight = share;
    return out;
}

static void masked_mean_backward(const struct var *out)
{
    const struct var *x = out->in[0];
    size_t length = (size_t)(x->rows / out->rows), cols = (size_t)x->cols;

    for (size_t i = 0; i < (size_t)x->rows; i++) {
        const nn_real *dy = out->grad + i / length * cols;

        for (size_t j = 0; j < cols; j++)
            x->grad[i * cols + j] += out->weight[i] * dy[j];
    }
}
