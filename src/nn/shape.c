/* shape.c - picking and joining rows and columns, see shape.h */
#include "nn/shape.h"

#include <assert.h>
#include <string.h>

static void add_to(nn_real *restrict to, const nn_real *restrict from, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to[i] += from[i];
}

static void gather_rows_backward(const struct var *out);

struct var *shape_gather_rows(struct tape *tape, struct var *x, const int *index,
                              int count)
{
    struct var *out =
        tape_result(tape, count, x->cols, gather_rows_backward, x, NULL, NULL);
    size_t cols = (size_t)x->cols;

    out->index = tape_copy_index(tape, index, (size_t)count);
    for (size_t i = 0; i < (size_t)count; i++) {
        assert(index[i] >= 0 && index[i] < x->rows);
        memcpy(out->value + i * cols, x->value + (size_t)index[i] * cols,
               cols * sizeof(*x->value));
    }
    return out;
}

static void gather_rows_backward(const struct var *out)
{
    nn_real *dx = out->in[0]->grad;
    size_t cols = (size_t)out->cols;

    for (size_t i = 0; i < (size_t)out->rows; i++)
        add_to(dx + (size_t)out->index[i] * cols, out->grad + i * cols, cols);
}

static void slice_rows_backward(const struct var *out);

struct var *shape_slice_rows(struct tape *tape, struct var *x, int first, int stride,
                             int count)
{
    struct var *out =
        tape_result(tape, count, x->cols, slice_rows_backward, x, NULL, NULL);
    size_t cols = (size_t)x->cols;

    assert(first >= 0 && stride > 0 && first + (count - 1) * stride < x->rows);
    out->first = first;
    out->stride = stride;
    for (size_t i = 0; i < (size_t)count; i++)
        memcpy(out->value + i * cols,
               x->value + ((size_t)first + i * (size_t)stride) * cols,
               cols * sizeof(*x->value));
    return out;
}

static void slice_rows_backward(const struct var *out)
{
    nn_real *dx = out->in[0]->grad + (size_t)out->first * (size_t)out->cols;
    size_t cols = (size_t)out->cols;

    for (size_t i = 0; i < (size_t)out->rows; i++)
        add_to(dx + i * (size_t)out->stride * cols, out->grad + i * cols, cols);
}

static void slice_cols_backward(const struct var *out);

struct var *shape_slice_cols(struct tape *tape, struct var *x, int first, int count)
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

static void concat_cols_backward(const struct var *out);

struct var *shape_concat_cols(struct tape *tape, struct var *a, struct var *b)
{
    struct var *out =
        tape_result(tape, a->rows, a->cols + b->cols, concat_cols_backward, a, b, NULL);
    size_t p = (size_t)a->cols, q = (size_t)b->cols;

    assert(a->rows == b->rows);
    for (size_t i = 0; i < (size_t)a->rows; i++) {
        memcpy(out->value + i * (p + q), a->value + i * p, p * sizeof(*a->value));
        memcpy(out->value + i * (p + q) + p, b->value + i * q, q * sizeof(*b->value));
    }
    return out;
}

static void concat_cols_backward(const struct var *out)
{
    const struct var *a = out->in[0], *b = out->in[1];
    size_t p = (size_t)a->cols, q = (size_t)b->cols;

    for (size_t i = 0; i < (size_t)out->rows; i++) {
        if (a->grad)
            add_to(a->grad + i * p, out->grad + i * (p + q), p);
        if (b->grad)
            add_to(b->grad + i * q, out->grad + i * (p + q) + p, q);
    }
}
