/* dense.h - the few dense operations a Gaussian process needs
 *
 * Row-major, double precision.  `stride` is the distance between rows, so that a matrix
 * can grow inside a larger allocation.  Called by gp.c and kernel_fit.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* A = L L^T in place, in the lower triangle; the upper one is left alone.  -1 when A is
 * not positive definite, and the triangle then holds nothing useful. */
int dense_cholesky(double *a, size_t n, size_t stride);

/* Add row n to an L of n rows: on entry row[0..n-1] is the covariance with the old rows
 * and row[n] the variance; on return it is the new row of L.  -1 as above. */
int dense_cholesky_append(const double *l, size_t n, size_t stride, double *row);

/* B := L^-1 B, or L^-T B, for B of (n, columns). */
void dense_solve(const double *l, size_t n, size_t stride, bool transposed, double *b,
                 size_t columns);

/* out (n, n) := (L L^T)^-1, both triangles. */
void dense_inverse(const double *l, size_t n, size_t stride, double *out);

/* C := beta C + alpha A^T B for A (rows, m), B (rows, columns), C (m, columns). */
void dense_transpose_multiply(double alpha, const double *a, size_t m, const double *b,
                              size_t columns, size_t rows, double beta, double *c);

/* C (m, n) := A (m, n) S for a symmetric S (n, n), both triangles given, rows of it so
 * far apart.  For a small m. */
void dense_multiply_symmetric(const double *a, const double *symmetric, size_t stride,
                              size_t m, size_t n, double *c);

/* The symmetric matrix a (n, n), without gaps, made one whose eigenvalues are at least so
 * large: the nearest covariance.  For a small n. */
void dense_nearest_covariance(double *a, size_t n, double least);

double dense_dot(const double *a, const double *b, size_t n);

/* The order of numbers, for qsort(). */
int dense_by_value(const void *a, const void *b);
