/* dense.c - blocked Cholesky and triangular solves on BLAS: the linear algebra of gp.c */
#include "model/dense.h"

#include "base/mem.h"
#include "nn/clones.h"

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

void dense_solve(const double *l, size_t n, size_t stride, bool transposed, double *b,
                 size_t columns)
{
    CBLAS_TRANSPOSE form = transposed ? CblasTrans : CblasNoTrans;

    if (n > 0 && columns == 1) /* dtrsm copies the triangle first */
        cblas_dtrsv(CblasRowMajor, CblasLower, form, CblasNonUnit, (int)n, l, (int)stride,
                    b, 1);
    else if (n > 0 && columns > 0)
        cblas_dtrsm(CblasRowMajor, CblasLeft, CblasLower, form, CblasNonUnit, (int)n,
                    (int)columns, 1.0, l, (int)stride, b, (int)columns);
}

void dense_inverse(const double *l, size_t n, size_t stride, double *out)
{
    double *root = mem_array(double, n *n + 1);

    for (size_t i = 0; i < n; i++)
        root[i * n + i] = 1;
    dense_solve(l, n, stride, false, root, n);
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

/* ---- a few rows times a large symmetric matrix -------------------------------------
 *
 * The matrix is read once, from memory; a BLAS would copy it into its own order first,
 * which costs more than the product. */

enum { LANES = 4, PARTS = 2, WIDE = LANES * PARTS, TILE = 6 };

/* Aligned as memory from mem_array() is. */
typedef double vector
    __attribute__((vector_size(LANES * sizeof(double)), aligned(sizeof(double))));

struct dense_column { /* one column of WIDE rows */
    vector part[PARTS];
};

/* TILE columns of the product: a (n), rows of the matrix, out (TILE). */
static inline __attribute__((always_inline)) void
multiply_tile(const struct dense_column *restrict a, const double *restrict rows,
              size_t stride, size_t n, int tile, struct dense_column *restrict out)
{
    vector sum[TILE][PARTS] = {{{0}}};

    for (size_t k = 0; k < n; k++)
        for (int t = 0; t < tile; t++)
            for (int p = 0; p < PARTS; p++)
                sum[t][p] += a[k].part[p] * rows[(size_t)t * stride + k];
    for (int t = 0; t < tile; t++)
        for (int p = 0; p < PARTS; p++)
            out[t].part[p] = sum[t][p];
}

CLONES static void multiply_wide(const struct dense_column *a, const double *matrix,
                                 size_t stride, size_t n, struct dense_column *out)
{
    size_t j = 0;

    for (; j + TILE <= n; j += TILE)
        multiply_tile(a, matrix + j * stride, stride, n, TILE, out + j);
    for (; j < n; j++)
        multiply_tile(a, matrix + j * stride, stride, n, 1, out + j);
}

void dense_multiply_symmetric(const double *a, const double *matrix, size_t stride,
                              size_t m, size_t n, double *c)
{
    struct dense_column *wide, *out;

    if (m == 0 || n == 0)
        return;
    wide = mem_array(struct dense_column, n);
    out = mem_array(struct dense_column, n);
    for (size_t first = 0; first < m; first += WIDE) {
        size_t count = m - first < WIDE ? m - first : WIDE;

        memset(wide, 0, n * sizeof(*wide));
        for (size_t r = 0; r < count; r++)
            for (size_t k = 0; k < n; k++)
                wide[k].part[r / LANES][r % LANES] = a[(first + r) * n + k];
        multiply_wide(wide, matrix, stride, n, out);
        for (size_t r = 0; r < count; r++)
            for (size_t k = 0; k < n; k++)
                c[(first + r) * n + k] = out[k].part[r / LANES][r % LANES];
    }
    free(wide);
    free(out);
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

int dense_by_value(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* Rotations by Jacobi until nothing beside the diagonal is left. */
#define JACOBI_ROUNDS 30

static void rotate(double *a, double *vectors, size_t n, size_t p, size_t q)
{
    double theta = (a[q * n + q] - a[p * n + p]) / (2 * a[p * n + q]);
    double t = (theta >= 0 ? 1 : -1) / (fabs(theta) + sqrt(theta * theta + 1));
    double c = 1 / sqrt(t * t + 1), s = t * c;

    for (size_t k = 0; k < n; k++) {
        double x = a[k * n + p], y = a[k * n + q];

        a[k * n + p] = c * x - s * y;
        a[k * n + q] = s * x + c * y;
    }
    for (size_t k = 0; k < n; k++) {
        double x = a[p * n + k], y = a[q * n + k];

        a[p * n + k] = c * x - s * y;
        a[q * n + k] = s * x + c * y;
        x = vectors[k * n + p];
        y = vectors[k * n + q];
        vectors[k * n + p] = c * x - s * y;
        vectors[k * n + q] = s * x + c * y;
    }
}

void dense_nearest_covariance(double *a, size_t n, double least)
{
    double *vectors = mem_array(double, n *n + 1), *values = mem_array(double, n + 1);

    for (size_t i = 0; i < n; i++)
        vectors[i * n + i] = 1;
    for (int round = 0; round < JACOBI_ROUNDS; round++) {
        double off = 0, all = 0;

        for (size_t p = 0; p < n; p++)
            for (size_t q = 0; q < n; q++) {
                all += a[p * n + q] * a[p * n + q];
                off += p != q ? a[p * n + q] * a[p * n + q] : 0;
            }
        if (!(off > 1e-16 * all))
            break;
        for (size_t p = 0; p + 1 < n; p++)
            for (size_t q = p + 1; q < n; q++)
                if (a[p * n + q] * a[p * n + q] > 1e-18 * all)
                    rotate(a, vectors, n, p, q);
    }
    for (size_t i = 0; i < n; i++)
        values[i] = fmax(a[i * n + i], least);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            double sum = 0;

            for (size_t k = 0; k < n; k++)
                sum += vectors[i * n + k] * values[k] * vectors[j * n + k];
            a[i * n + j] = sum;
        }
    free(vectors);
    free(values);
}
