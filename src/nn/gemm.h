/* gemm.h - matrix products, the one file that knows the BLAS
 *
 * OpenBLAS on one thread for batches; plain loops where a side is 1, which is several
 * times faster there.  Matrices are stored row by row without gaps. */
#pragma once

#include "nn/params.h"

/* Which of the two factors is stored transposed. */
enum gemm_form {
    GEMM_NN, /* a is (m, k), b is (k, n) */
    GEMM_NT, /* a is (m, k), b is (n, k) */
    GEMM_TN, /* a is (k, m), b is (k, n) */
};

/* c = beta c + alpha a b, where c is (m, n) and k is the length summed over. */
void gemm(enum gemm_form form, int m, int n, int k, nn_real alpha, const nn_real *a,
          const nn_real *b, nn_real beta, nn_real *c);

/* Keep the BLAS to one thread; whoever multiplies calls it first. */
void gemm_setup(void);
