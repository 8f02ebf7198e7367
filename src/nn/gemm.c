/* gemm.c - matrix products on OpenBLAS or by hand, see gemm.h */
#include "nn/gemm.h"

#include <cblas.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>

#ifdef NN_DOUBLE
#define cblas_gemm cblas_dgemm
#else
#define cblas_gemm cblas_sgemm
#endif

static void one_thread(void)
{
    openblas_set_num_threads(1);
}

void gemm_setup(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, one_thread);
}

static void scale(nn_real *c, size_t count, nn_real beta)
{
    if (beta == 0)
        memset(c, 0, count * sizeof(*c));
    else if (beta != 1)
        for (size_t i = 0; i < count; i++)
            c[i] *= beta;
}

/* y += a x */
static void add_scaled(nn_real *restrict y, nn_real a, const nn_real *restrict x,
                       size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] += a * x[i];
}

/* Eight partial sums, so that the compiler may use vectors without reordering. */
static nn_real dot(const nn_real *x, const nn_real *y, size_t n)
{
    nn_real part[8] = {0};
    nn_real sum = 0;
    size_t i = 0;

    for (; i + 8 <= n; i += 8)
        for (size_t j = 0; j < 8; j++)
            part[j] += x[i + j] * y[i + j];
    for (; i < n; i++)
        sum += x[i] * y[i];
    for (int j = 0; j < 8; j++)
        sum += part[j];
    return sum;
}

/* c is a column: b is k numbers in a row however it is stored. */
static void plain_column(enum gemm_form form, size_t m, size_t k, nn_real alpha,
                         const nn_real *a, const nn_real *b, nn_real *c)
{
    if (form == GEMM_TN)
        for (size_t p = 0; p < k; p++)
            add_scaled(c, alpha * b[p], a + p * m, m);
    else
        for (size_t i = 0; i < m; i++)
            c[i] += alpha * dot(a + i * k, b, k);
}

static void plain_row(enum gemm_form form, size_t m, size_t n, size_t k, nn_real alpha,
                      const nn_real *a, const nn_real *b, nn_real *c)
{
    for (size_t i = 0; i < m; i++) {
        nn_real *row = c + i * n;

        if (form == GEMM_NT && k > 1)
            for (size_t j = 0; j < n; j++)
                row[j] += alpha * dot(a + i * k, b + j * k, k);
        else
            for (size_t p = 0; p < k; p++)
                add_scaled(row, alpha * a[form == GEMM_TN ? p * m + i : i * k + p],
                           b + p * n, n);
    }
}

void gemm(enum gemm_form form, int m, int n, int k, nn_real alpha, const nn_real *a,
          const nn_real *b, nn_real beta, nn_real *c)
{
    if (m == 1 || n == 1 || k == 1) {
        scale(c, (size_t)m * (size_t)n, beta);
        if (n == 1)
            plain_column(form, (size_t)m, (size_t)k, alpha, a, b, c);
        else
            plain_row(form, (size_t)m, (size_t)n, (size_t)k, alpha, a, b, c);
        return;
    }
    cblas_gemm(CblasRowMajor, form == GEMM_TN ? CblasTrans : CblasNoTrans,
               form == GEMM_NT ? CblasTrans : CblasNoTrans, m, n, k, alpha, a,
               form == GEMM_TN ? m : k, b, form == GEMM_NT ? k : n, beta, c, n);
}
