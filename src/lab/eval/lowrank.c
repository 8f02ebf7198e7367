/* lowrank.c - a table completed from a few factors: one of the baselines */
#include "lab/eval/lowrank.h"

#include "base/mem.h"
#include "base/rng.h"
#include "model/dense.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_RANK 5

struct lowrank {
    size_t columns;
    int rank;
    double noise;    /* variance the axes leave */
    double *mean;    /* (columns) shrunk towards the mean of all */
    double *loading; /* (rank, columns) scaled to factors of variance 1 */
};

/* Eigenvectors of a symmetric (n, n) matrix by Jacobi rotations, in the rows of v. */
static void eigen(double *a, size_t n, double *v)
{
    memset(v, 0, n * n * sizeof(double));
    for (size_t i = 0; i < n; i++)
        v[i * n + i] = 1;
    for (int sweep = 0; sweep < 30; sweep++)
        for (size_t p = 0; p + 1 < n; p++)
            for (size_t q = p + 1; q < n; q++) {
                double apq = a[p * n + q], theta, t, c, s;

                if (fabs(apq) < 1e-14)
                    continue;
                theta = (a[q * n + q] - a[p * n + p]) / (2 * apq);
                t = (theta >= 0 ? 1 : -1) / (fabs(theta) + sqrt(theta * theta + 1));
                c = 1 / sqrt(t * t + 1);
                s = t * c;
                for (size_t i = 0; i < n; i++) {
                    double x = a[i * n + p], y = a[i * n + q];

                    a[i * n + p] = c * x - s * y;
                    a[i * n + q] = s * x + c * y;
                }
                for (size_t i = 0; i < n; i++) {
                    double x = a[p * n + i], y = a[q * n + i];

                    a[p * n + i] = c * x - s * y;
                    a[q * n + i] = s * x + c * y;
                    x = v[p * n + i];
                    y = v[q * n + i];
                    v[p * n + i] = c * x - s * y;
                    v[q * n + i] = s * x + c * y;
                }
            }
}

static void column_means(const double *rows, size_t count, size_t columns, double *mean)
{
    double all = 0, known = 0;

    for (size_t i = 0; i < count * columns; i++)
        if (!isnan(rows[i])) {
            all += rows[i];
            known++;
        }
    all = known > 0 ? all / known : 0;
    for (size_t c = 0; c < columns; c++) {
        double sum = all, n = 1;

        for (size_t r = 0; r < count; r++)
            if (!isnan(rows[r * columns + c])) {
                sum += rows[r * columns + c];
                n++;
            }
        mean[c] = sum / n;
    }
}

static struct lowrank *fit_rank(const double *rows, size_t count, size_t columns,
                                int rank)
{
    struct lowrank *m = mem_new(struct lowrank);
    double *centred = mem_array(double, count *columns + 1);
    double *gram = mem_array(double, count *count + 1);
    double *axes = mem_array(double, count *count + 1);
    double left = 0;

    m->columns = columns;
    m->rank = (size_t)rank < count ? rank : (int)count;
    m->mean = mem_array(double, columns + 1);
    m->loading = mem_array(double, (size_t)m->rank *columns + 1);
    column_means(rows, count, columns, m->mean);
    for (size_t i = 0; i < count * columns; i++)
        centred[i] = isnan(rows[i]) ? 0 : rows[i] - m->mean[i % columns];
    for (size_t a = 0; a < count; a++)
        for (size_t b = 0; b < count; b++)
            gram[a * count + b] =
                dense_dot(centred + a * columns, centred + b * columns, columns);
    eigen(gram, count, axes);
    for (size_t a = 0; a < count; a++)
        left += gram[a * count + a];
    for (int r = 0; r < m->rank; r++) {
        size_t best = 0;

        for (size_t a = 1; a < count; a++)
            if (gram[a * count + a] > gram[best * count + best])
                best = a;
        for (size_t a = 0; a < count; a++)
            for (size_t c = 0; c < columns; c++)
                m->loading[(size_t)r * columns + c] += axes[best * count + a] *
                                                       centred[a * columns + c] /
                                                       sqrt((double)count);
        left -= gram[best * count + best];
        gram[best * count + best] = -1;
    }
    m->noise = fmax(left, 0) / (double)(count * columns) + 1e-4;
    free(centred);
    free(gram);
    free(axes);
    return m;
}

void lowrank_complete(const struct lowrank *m, const size_t *seen, const double *values,
                      size_t seen_count, double *out)
{
    double a[MAX_RANK * MAX_RANK] = {0}, w[MAX_RANK] = {0};
    size_t rank = (size_t)m->rank;

    for (size_t r = 0; r < rank; r++) {
        for (size_t s = 0; s < rank; s++)
            for (size_t i = 0; i < seen_count; i++)
                a[r * rank + s] += m->loading[r * m->columns + seen[i]] *
                                   m->loading[s * m->columns + seen[i]];
        a[r * rank + r] += m->noise;
        for (size_t i = 0; i < seen_count; i++)
            w[r] += m->loading[r * m->columns + seen[i]] * (values[i] - m->mean[seen[i]]);
    }
    if (dense_cholesky(a, rank, rank) == 0) {
        dense_solve(a, rank, rank, false, w, 1);
        dense_solve(a, rank, rank, true, w, 1);
    }
    memcpy(out, m->mean, m->columns * sizeof(double));
    for (size_t r = 0; r < rank; r++)
        for (size_t c = 0; c < m->columns; c++)
            out[c] += w[r] * m->loading[r * m->columns + c];
}

/* Error on the unseen entries of one row, completed from the others. */
static double left_out_error(const double *rows, size_t count, size_t columns, size_t at,
                             int rank, size_t shown)
{
    double *rest = mem_array(double, count *columns + 1);
    double *out = mem_array(double, columns + 1);
    double *values = mem_array(double, shown + 1);
    size_t *seen = mem_array(size_t, shown + 1);
    const double *row = rows + at * columns;
    struct lowrank *m;
    struct rng rng;
    double error = 0;

    memcpy(rest, rows, at * columns * sizeof(double));
    memcpy(rest + at * columns, row + columns,
           (count - at - 1) * columns * sizeof(double));
    m = fit_rank(rest, count - 1, columns, rank);
    rng_init(&rng, at);
    for (size_t i = 0; i < shown; i++) {
        seen[i] = rng_below(&rng, columns);
        values[i] = isnan(row[seen[i]]) ? m->mean[seen[i]] : row[seen[i]];
    }
    lowrank_complete(m, seen, values, shown, out);
    for (size_t c = 0; c < columns; c++)
        if (!isnan(row[c]))
            error += fabs(row[c] - out[c]);
    lowrank_destroy(m);
    free(rest);
    free(out);
    free(values);
    free(seen);
    return error;
}

struct lowrank *lowrank_create(const double *rows, size_t count, size_t columns,
                               size_t shown)
{
    static const int ranks[] = {1, 2, 3, 5};
    double best_error = INFINITY;
    int rank = 1;

    if (count < 3)
        return fit_rank(rows, count, columns, rank);
    for (size_t i = 0; i < sizeof(ranks) / sizeof(ranks[0]); i++) {
        double error = 0;

        for (size_t at = 0; at < count; at++)
            error += left_out_error(rows, count, columns, at, ranks[i], shown);
        if (error < best_error) {
            best_error = error;
            rank = ranks[i];
        }
    }
    return fit_rank(rows, count, columns, rank);
}

void lowrank_destroy(struct lowrank *m)
{
    if (!m)
        return;
    free(m->mean);
    free(m->loading);
    free(m);
}
