/* dense.c - blocked Cholesky and triangular solves on BLAS, see dense.h */
#include "loop/core/dense.h"

#include "base/mem.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Below this the plain loop is faster than the call. */
#define BLOCK 48

static int cholesky_block(double *a, size_t n, size_t stride)
{
    for (size_t j = 0; j < n; j++) {
        double *row = a + j * stride;
        double d = row[j] - dense_dot(row, row, j);

        if (!(d > 0) || !isfinite(d))
            return -1;
        row[j] = sqrt(d);
        for (size_t i = j + 1; i < n; i++) {
            double *below = a + i * stride;

            below[j] = (below[j] - dense_dot(below, row, j)) / row[j];
        }
    }
    return 0;
}

int dense_cholesky(double *a, size_t n, size_t stride)
{
    for (size_t at = 0; at < n; at += BLOCK) {
        size_t width = n - at < BLOCK ? n - at : BLOCK;
        size_t rest = n - at - width;
        double *corner = a + at * stride + at;
        double *panel = corner + width * stride;

        if (cholesky_block(corner, width, stride) < 0)
            return -1;
        if (rest == 0)
            continue;
        cblas_dtrsm(CblasRowMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit,
                    (int)rest, (int)width, 1.0, corner, (int)stride, panel, (int)stride);
        cblas_dsyrk(CblasRowMajor, CblasLower, CblasNoTrans, (int)rest, (int)width, -1.0,
                    panel, (int)stride, 1.0, panel + width, (int)stride);
    }
    return 0;
}

int dense_cholesky_append(const double *l, size_t n, size_t stride, double *row)
{
    double d;

    for (size_t i = 0; i < n; i++)
        row[i] = (row[i] - dense_dot(l + i * stride, row, i)) / l[i * stride + i];
    d = row[n] - dense_dot(row, row, n);
    if (!(d > 0) || !isfinite(d))
        return -1;
    row[n] = sqrt(d);
    return 0;
}

void dense_solve_lower(const double *l, size_t n, size_t stride, double *b,
                       size_t columns)
{
    if (n > 0 && columns > 0)
        cblas_dtrsm(CblasRowMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit,
                    (int)n, (int)columns, 1.0, l, (int)stride, b, (int)columns);
}

void dense_solve_lower_t(const double *l, size_t n, size_t stride, double *b,
                         size_t columns)
{
    if (n > 0 && columns > 0)
        cblas_dtrsm(CblasRowMajor, CblasLeft, CblasLower, CblasTrans, CblasNonUnit,
                    (int)n, (int)columns, 1.0, l, (int)stride, b, (int)columns);
}

void dense_inverse(const double *l, size_t n, size_t stride, double *out)
{
    double *root = mem_array(double, n *n + 1);

    for (size_t i = 0; i < n; i++)
        root[i * n + i] = 1;
    dense_solve_lower(l, n, stride, root, n);
    dense_transpose_multiply(1, root, n, root, n, n, 0, out);
    free(root);
}

void dense_transpose_multiply(double alpha, const double *a, size_t m, const double *b,
                              size_t columns, size_t rows, double beta, double *c)
{
    if (m == 0 || columns == 0)
        return;
    cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, (int)m, (int)columns, (int)rows,
                alpha, a, (int)m, b, (int)columns, beta, c, (int)columns);
}

void dense_multiply(const double *a, const double *b, size_t stride, size_t m, size_t k,
                    size_t n, double *c)
{
    if (m == 0 || n == 0 || k == 0)
        return;
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)m, (int)n, (int)k, 1.0, a,
                (int)k, b, (int)stride, 0.0, c, (int)n);
}

double dense_dot(const double *a, const double *b, size_t n)
{
    double sum[4] = {0};
    size_t i = 0;

    for (; i + 4 <= n; i += 4)
        for (size_t lane = 0; lane < 4; lane++)
            sum[lane] += a[i + lane] * b[i + lane];
    for (; i < n; i++)
        sum[0] += a[i] * b[i];
    return sum[0] + sum[1] + sum[2] + sum[3];
}
