/* linear.c - matrix products and their gradients, see linear.h */
#include "nn/linear.h"

#include "nn/gemm.h"

#include <assert.h>
#include <string.h>

static struct var *group_matmul(struct tape *tape, struct var *a, struct var *b,
                                int groups, bool transposed, nn_real scale);

struct var *linear_matmul(struct tape *tape, struct var *a, struct var *b)
{
    return group_matmul(tape, a, b, 1, false, 1);
}

struct var *linear_group_matmul(struct tape *tape, struct var *a, struct var *b,
                                int groups)
{
    return group_matmul(tape, a, b, groups, false, 1);
}

struct var *linear_group_matmul_transposed(struct tape *tape, struct var *a,
                                           struct var *b, int groups, nn_real scale)
{
    return group_matmul(tape, a, b, groups, true, scale);
}

static void group_matmul_backward(const struct var *out);

static struct var *group_matmul(struct tape *tape, struct var *a, struct var *b,
                                int groups, bool transposed, nn_real scale)
{
    int m = a->rows / groups;
    int k = a->cols;
    int n = transposed ? b->rows / groups : b->cols;
    struct var *out = tape_result(tape, a->rows, n, group_matmul_backward, a, b, NULL);

    assert(a->rows == m * groups && b->rows % groups == 0);
    assert((transposed ? b->cols : b->rows / groups) == k);
    out->groups = groups;
    out->transposed = transposed;
    out->scale = scale;
    for (size_t g = 0; g < (size_t)groups; g++)
        gemm(transposed ? GEMM_NT : GEMM_NN, m, n, k, scale,
             a->value + g * (size_t)m * (size_t)k, b->value + g * (size_t)n * (size_t)k,
             0, out->value + g * (size_t)m * (size_t)n);
    return out;
}

static void group_matmul_backward(const struct var *out)
{
    const struct var *a = out->in[0], *b = out->in[1];
    int m = out->rows / out->groups;
    int n = out->cols;
    int k = a->cols;
    nn_real scale = out->scale;

    for (size_t g = 0; g < (size_t)out->groups; g++) {
        const nn_real *dy = out->grad + g * (size_t)m * (size_t)n;
        size_t at_a = g * (size_t)m * (size_t)k;
        size_t at_b = g * (size_t)n * (size_t)k;

        if (a->grad)
            gemm(out->transposed ? GEMM_NN : GEMM_NT, m, k, n, scale, dy, b->value + at_b,
                 1, a->grad + at_a);
        if (b->grad && out->transposed)
            gemm(GEMM_TN, n, k, m, scale, dy, a->value + at_a, 1, b->grad + at_b);
        else if (b->grad)
            gemm(GEMM_TN, k, n, m, scale, a->value + at_a, dy, 1, b->grad + at_b);
    }
}

static void copy_rows(nn_real *to, const nn_real *row, int rows, int cols)
{
    for (int i = 0; i < rows; i++)
        memcpy(to + (size_t)i * (size_t)cols, row, (size_t)cols * sizeof(*row));
}

static void add_column_sums(nn_real *restrict sums, const nn_real *restrict from,
                            int rows, int cols)
{
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < cols; j++)
            sums[j] += from[(size_t)i * (size_t)cols + (size_t)j];
}

static void bias_backward(const struct var *out);

struct var *linear_bias(struct tape *tape, struct var *x, struct var *bias)
{
    struct var *out = tape_result(tape, x->rows, x->cols, bias_backward, x, bias, NULL);

    assert(bias->rows == 1 && bias->cols == x->cols);
    copy_rows(out->value, bias->value, out->rows, out->cols);
    for (size_t i = 0; i < var_count(out); i++)
        out->value[i] += x->value[i];
    return out;
}

static void bias_backward(const struct var *out)
{
    const struct var *x = out->in[0], *bias = out->in[1];

    if (x->grad)
        for (size_t i = 0; i < var_count(out); i++)
            x->grad[i] += out->grad[i];
    if (bias->grad)
        add_column_sums(bias->grad, out->grad, out->rows, out->cols);
}

static void dense_backward(const struct var *out);

struct var *linear_dense(struct tape *tape, struct var *x, struct var *weight,
                         struct var *bias)
{
    struct var *out =
        tape_result(tape, x->rows, weight->cols, dense_backward, x, weight, bias);

    assert(weight->rows == x->cols && bias->rows == 1 && bias->cols == weight->cols);
    copy_rows(out->value, bias->value, out->rows, out->cols);
    gemm(GEMM_NN, x->rows, weight->cols, x->cols, 1, x->value, weight->value, 1,
         out->value);
    return out;
}

static void dense_backward(const struct var *out)
{
    const struct var *x = out->in[0], *weight = out->in[1], *bias = out->in[2];
    const nn_real *dy = out->grad;

    if (x->grad)
        gemm(GEMM_NT, x->rows, x->cols, out->cols, 1, dy, weight->value, 1, x->grad);
    if (weight->grad)
        gemm(GEMM_TN, x->cols, out->cols, x->rows, 1, x->value, dy, 1, weight->grad);
    if (bias->grad)
        add_column_sums(bias->grad, dy, out->rows, out->cols);
}
