/* ops.c - operations on the tape: mlp.c makes layers of them, model/stat_network.c the
 * loss; tape_backward() calls the gradients */
#include "nn/ops.h"

#include "nn/gemm.h"

#include <assert.h>
#include <string.h>

static void add_to(nn_real *restrict to, const nn_real *restrict from, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to[i] += from[i];
}

static void dense_backward(const struct var *out);

struct var *ops_dense(struct tape *tape, struct var *x, struct var *weight,
                      struct var *bias)
{
    struct var *out =
        tape_result(tape, x->rows, weight->cols, dense_backward, x, weight, bias);
    size_t cols = (size_t)out->cols;

    assert(weight->rows == x->cols && bias->rows == 1 && bias->cols == weight->cols);
    for (size_t i = 0; i < (size_t)out->rows; i++)
        memcpy(out->value + i * cols, bias->value, cols * sizeof(*bias->value));
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
    for (size_t i = 0; bias->grad && i < (size_t)out->rows; i++)
        add_to(bias->grad, dy + i * (size_t)out->cols, (size_t)out->cols);
}

static void relu_backward(const struct var *out);

/* What is not a number stays so and shows in the answer. */
struct var *ops_relu(struct tape *tape, struct var *x)
{
    struct var *out = tape_result(tape, x->rows, x->cols, relu_backward, x, NULL, NULL);
    const nn_real *restrict from = x->value;
    nn_real *restrict to = out->value;

    for (size_t i = 0; i < var_count(out); i++)
        to[i] = 0 > from[i] ? 0 : from[i];
    return out;
}

/* A product instead of a choice: that the compiler turns into vectors. */
static void relu_backward(const struct var *out)
{
    nn_real *restrict dx = out->in[0]->grad;
    const nn_real *restrict y = out->value, *restrict dy = out->grad;

    for (size_t i = 0; i < var_count(out); i++)
        dx[i] += (nn_real)(y[i] > 0) * dy[i];
}

static void add_backward(const struct var *out);

struct var *ops_add(struct tape *tape, struct var *a, struct var *b)
{
    struct var *out = tape_result(tape, a->rows, a->cols, add_backward, a, b, NULL);

    assert(a->rows == b->rows && a->cols == b->cols);
    for (size_t i = 0; i < var_count(out); i++)
        out->value[i] = a->value[i] + b->value[i];
    return out;
}

/* One input at a time: a may be b. */
static void add_backward(const struct var *out)
{
    for (int i = 0; i < 2; i++)
        if (out->in[i]->grad)
            add_to(out->in[i]->grad, out->grad, var_count(out));
}

static void affine_backward(const struct var *out);

struct var *ops_affine(struct tape *tape, struct var *x, nn_real scale, nn_real shift)
{
    struct var *out = tape_result(tape, x->rows, x->cols, affine_backward, x, NULL, NULL);

    out->scale = scale;
    for (size_t i = 0; i < var_count(out); i++)
        out->value[i] = scale * x->value[i] + shift;
    return out;
}

static void affine_backward(const struct var *out)
{
    nn_real *dx = out->in[0]->grad;

    for (size_t i = 0; i < var_count(out); i++)
        dx[i] += out->scale * out->grad[i];
}

static void slice_cols_backward(const struct var *out);

struct var *ops_slice_cols(struct tape *tape, struct var *x, int first, int count)
{
    struct var *out =
        tape_result(tape, x->rows, count, slice_cols_backward, x, NULL, NULL);

    assert(first >= 0 && first + count <= x->cols);
    out->first = first;
    for (size_t i = 0; i < (size_t)x->rows; i++)
        memcpy(out->value + i * (size_t)count,
               x->value + i * (size_t)x->cols + (size_t)first,
               (size_t)count * sizeof(*x->value));
    return out;
}

static void slice_cols_backward(const struct var *out)
{
    const struct var *x = out->in[0];
    size_t cols = (size_t)out->cols;

    for (size_t i = 0; i < (size_t)out->rows; i++)
        add_to(x->grad + i * (size_t)x->cols + (size_t)out->first, out->grad + i * cols,
               cols);
}

static nn_real believed(nn_real log_width)
{
    return log_width < OPS_MIN_LOG_WIDTH ? OPS_MIN_LOG_WIDTH : log_width;
}

static void laplace_backward(const struct var *out);

struct var *ops_laplace(struct tape *tape, struct var *mean, struct var *log_width,
                        const nn_real *target)
{
    struct var *out = tape_result(tape, 1, 1, laplace_backward, mean, log_width, NULL);
    double sum = 0;

    assert(mean->rows == log_width->rows && mean->cols == log_width->cols);
    out->constant = tape_copy(tape, target, var_count(mean));
    out->scale = (nn_real)(1 / (double)var_count(mean));
    for (size_t i = 0; i < var_count(mean); i++) {
        nn_real s = believed(log_width->value[i]);
        nn_real miss = nn_fabs(target[i] - mean->value[i]);

        sum += (double)(out->scale * (miss * nn_exp(-s) + s));
    }
    out->value[0] = (nn_real)sum;
    return out;
}

static void laplace_backward(const struct var *out)
{
    const struct var *mean = out->in[0], *log_width = out->in[1];
    nn_real factor = out->grad[0] * out->scale;

    for (size_t i = 0; i < var_count(mean); i++) {
        nn_real s = believed(log_width->value[i]);
        nn_real miss = out->constant[i] - mean->value[i];
        nn_real inverse = nn_exp(-s);
        nn_real ds = 1 - nn_fabs(miss) * inverse;

        if (mean->grad)
            mean->grad[i] -= factor * (nn_real)((miss > 0) - (miss < 0)) * inverse;
        if (log_width->grad && (log_width->value[i] >= s || ds < 0))
            log_width->grad[i] += factor * ds;
    }
}
