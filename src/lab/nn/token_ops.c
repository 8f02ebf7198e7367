/* token_ops.c - what seqnet.c computes with beyond the operations of ops.h */
#include "lab/nn/token_ops.h"

#include "nn/gemm.h"

#include <assert.h>
#include <string.h>

/* Keeps the variance of a constant row from being divided by. */
#define LAYER_NORM_EPSILON ((nn_real)1e-5)

/* Through exp, several times faster than the library's; off by 1e-7 at most near 0. */
struct var *token_tanh(struct arena *arena, const struct var *x)
{
    struct var *out = ops_input(arena, x->rows, x->cols, NULL);

    for (size_t i = 0; i < var_count(out); i++)
        out->value[i] = 1 - 2 / (1 + nn_exp(2 * x->value[i]));
    return out;
}

struct var *token_sigmoid(struct arena *arena, const struct var *x)
{
    struct var *out = ops_input(arena, x->rows, x->cols, NULL);

    for (size_t i = 0; i < var_count(out); i++)
        out->value[i] = 1 / (1 + nn_exp(-x->value[i]));
    return out;
}

struct var *token_mul(struct arena *arena, const struct var *a, const struct var *b)
{
    struct var *out = ops_input(arena, a->rows, a->cols, NULL);

    assert(a->rows == b->rows && a->cols == b->cols);
    for (size_t i = 0; i < var_count(out); i++)
        out->value[i] = a->value[i] * b->value[i];
    return out;
}

struct var *token_between(struct arena *arena, const struct var *a, const struct var *b,
                          const nn_real *scale)
{
    struct var *out = ops_input(arena, a->rows, a->cols, NULL);

    assert(a->rows == b->rows && a->cols == b->cols);
    for (size_t i = 0; i < var_count(out); i++) {
        nn_real apart = b->value[i] - a->value[i];

        out->value[i] = a->value[i] + scale[i / (size_t)a->cols] * apart;
    }
    return out;
}

struct var *token_slice_rows(struct arena *arena, const struct var *x, int first,
                             int stride, int count)
{
    struct var *out = ops_input(arena, count, x->cols, NULL);
    size_t cols = (size_t)x->cols;

    assert(first >= 0 && stride > 0 && first + (count - 1) * stride < x->rows);
    for (size_t i = 0; i < (size_t)count; i++)
        memcpy(out->value + i * cols,
               x->value + ((size_t)first + i * (size_t)stride) * cols,
               cols * sizeof(*x->value));
    return out;
}

struct var *token_concat_cols(struct arena *arena, const struct var *a,
                              const struct var *b)
{
    struct var *out = ops_input(arena, a->rows, a->cols + b->cols, NULL);
    size_t p = (size_t)a->cols, q = (size_t)b->cols;

    assert(a->rows == b->rows);
    for (size_t i = 0; i < (size_t)a->rows; i++) {
        memcpy(out->value + i * (p + q), a->value + i * p, p * sizeof(*a->value));
        memcpy(out->value + i * (p + q) + p, b->value + i * q, q * sizeof(*b->value));
    }
    return out;
}

struct var *token_group_matmul(struct arena *arena, const struct var *a,
                               const struct var *b, int groups, bool transposed,
                               nn_real scale)
{
    int m = a->rows / groups, k = a->cols;
    int n = transposed ? b->rows / groups : b->cols;
    struct var *out = ops_input(arena, a->rows, n, NULL);

    assert(a->rows == m * groups && b->rows % groups == 0);
    assert((transposed ? b->cols : b->rows / groups) == k);
    for (size_t g = 0; g < (size_t)groups; g++)
        gemm(transposed ? GEMM_NT : GEMM_NN, m, n, k, scale,
             a->value + g * (size_t)m * (size_t)k, b->value + g * (size_t)n * (size_t)k,
             0, out->value + g * (size_t)m * (size_t)n);
    return out;
}

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

struct var *token_softmax(struct arena *arena, const struct var *x, const nn_real *mask,
                          int groups)
{
    struct var *out = ops_input(arena, x->rows, x->cols, NULL);
    size_t cols = (size_t)x->cols;
    size_t rows = (size_t)(x->rows / groups); /* of a group */

    assert(x->rows % groups == 0);
    for (size_t i = 0; i < (size_t)x->rows; i++)
        softmax_row(out->value + i * cols, x->value + i * cols,
                    mask ? mask + i / rows * cols : NULL, cols);
    return out;
}

/* Write the row with mean 0 and variance 1. */
static void standardize(nn_real *to, const nn_real *x, size_t count)
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
}

struct var *token_layer_norm(struct arena *arena, const struct var *x,
                             const struct var *gain, const struct var *shift)
{
    struct var *out = ops_input(arena, x->rows, x->cols, NULL);
    size_t cols = (size_t)x->cols;

    assert(gain->rows == 1 && gain->cols == x->cols);
    assert(shift->rows == 1 && shift->cols == x->cols);
    for (size_t i = 0; i < (size_t)x->rows; i++) {
        nn_real *row = out->value + i * cols;

        standardize(row, x->value + i * cols, cols);
        for (size_t j = 0; j < cols; j++)
            row[j] = row[j] * gain->value[j] + shift->value[j];
    }
    return out;
}

struct var *token_masked_mean(struct arena *arena, const struct var *x,
                              const nn_real *mask, int groups)
{
    struct var *out = ops_input(arena, groups, x->cols, NULL);
    size_t length = (size_t)(x->rows / groups), cols = (size_t)x->cols;

    assert(x->rows % groups == 0);
    for (size_t g = 0; g < (size_t)groups; g++) {
        nn_real *mean = out->value + g * cols;
        size_t tokens = 0;

        for (size_t i = g * length; i < (g + 1) * length; i++)
            tokens += !mask || mask[i] != 0;
        for (size_t i = g * length; i < (g + 1) * length; i++) {
            nn_real share = !mask || mask[i] != 0 ? 1 / (nn_real)tokens : 0;

            for (size_t j = 0; j < cols; j++)
                mean[j] += share * x->value[i * cols + j];
        }
    }
    return out;
}
