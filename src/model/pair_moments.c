/* pair_moments.c - covariance of rows: pair_view.c has it made, p1.c, p2.c and
 * pair_experts.c correct cells by it */
#include "model/pair_view.h"

#include "base/mem.h"
#include "model/dense.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Half of how two cells vary together is that of their types, half is what was seen; and
 * a measurement has so much noise of its own. */
#define SEEN_SHARE  0.5
#define NOISE_SHARE 0.12
#define NOISE_VAR   4e-4

struct pair_sum {
    double sum, n;
};

static int by_job_and_other(const void *a, const void *b)
{
    const struct pair_residual *x = a, *y = b;

    if (x->job != y->job)
        return x->job < y->job ? -1 : 1;
    return (x->cell > y->cell) - (x->cell < y->cell);
}

/* Of one job's residuals, sorted by kind, type and co-runner: all products of two types
 * over different co-runners, and over the same one. */
static void add_row(const struct pair_sight *v, const struct pair_residual *row,
                    size_t count, struct pair_sum *apart, struct pair_sum *same)
{
    size_t types = PAIR_KINDS * (size_t)v->gpus;
    double sum[PAIR_KINDS * WORLD_MAX_GPUS] = {0}, n[PAIR_KINDS * WORLD_MAX_GPUS] = {0};
    size_t first[PAIR_KINDS * WORLD_MAX_GPUS + 1] = {0};
    size_t at = 0;

    for (size_t t = 0; t < types; t++) {
        first[t] = at;
        for (; at < count && (size_t)(row[at].cell / v->jobs) == t; at++) {
            sum[t] += (double)row[at].value;
            n[t]++;
        }
    }
    first[types] = at;
    for (size_t t = 0; t < types; t++)
        for (size_t u = 0; u <= t; u++) {
            size_t i = first[t], j = first[u];
            double both = 0, pairs = 0;

            while (i < first[t + 1] && j < first[u + 1]) {
                int k = row[i].cell % v->jobs, m = row[j].cell % v->jobs;

                if (k == m) {
                    both += (double)(row[i].value * row[j].value);
                    pairs++;
                }
                i += k <= m;
                j += m <= k;
            }
            same[t * types + u].sum += both;
            same[t * types + u].n += pairs;
            apart[t * types + u].sum += sum[t] * sum[u] - both;
            apart[t * types + u].n += n[t] * n[u] - pairs;
        }
}

/* Few products count as chance. */
#define MOMENT_PAIRS 20.0
#define MOMENT_LEAST 1e-5

void pair_moments_fill(struct pair_sight *v)
{
    size_t types = PAIR_KINDS * (size_t)v->gpus, n = v->residual_count;
    struct pair_residual *sorted = mem_dup(v->residuals, n, sizeof(*sorted));
    struct pair_sum *apart = mem_array(struct pair_sum, types * types + 1);
    struct pair_sum *same = mem_array(struct pair_sum, types * types + 1);

    qsort(sorted, n, sizeof(*sorted), by_job_and_other);
    for (size_t first = 0, next; first < n; first = next) {
        for (next = first; next < n && sorted[next].job == sorted[first].job;)
            next++;
        add_row(v, sorted + first, next - first, apart, same);
    }
    for (size_t t = 0; t < types; t++)
        for (size_t u = 0; u <= t; u++) {
            const struct pair_sum *a = &apart[t * types + u], *s = &same[t * types + u];
            double common = a->sum / (a->n + MOMENT_PAIRS);
            double all = s->sum / (s->n + MOMENT_PAIRS);

            v->common[t * types + u] = v->common[u * types + t] = common;
            v->match[t * types + u] = v->match[u * types + t] = all - common;
        }
    dense_nearest_covariance(v->common, types, MOMENT_LEAST);
    dense_nearest_covariance(v->match, types, MOMENT_LEAST);
    free(sorted);
    free(apart);
    free(same);
}

/* ---- what measurements correct -------------------------------------------------------
 */

/* How two cells vary together by what their types do; odd: how much further the whole row
 * strays than usual. */
static double by_type(const struct pair_sight *v, int a, int b, double odd)
{
    size_t types = PAIR_KINDS * (size_t)v->gpus;
    size_t t = (size_t)(a / v->jobs), u = (size_t)(b / v->jobs);

    return odd * v->common[t * types + u] +
           (a % v->jobs == b % v->jobs ? v->match[t * types + u] : 0);
}

static double own_var(const struct pair_sight *v, int cell, double odd)
{
    return (1 - SEEN_SHARE) * by_type(v, cell, cell, odd) + SEEN_SHARE * v->square[cell];
}

double pair_moments_var(const struct pair_sight *v, int cell)
{
    return (1 + NOISE_SHARE) * own_var(v, cell, 1) + NOISE_VAR;
}

/* What was seen: of each shown cell with all cells, out (shown, cells of the view). */
static void seen_together(const struct pair_sight *v, double *out)
{
    size_t shown = (size_t)v->shown;
    double *row = mem_array(double, (size_t)v->jobs *shown + 1);
    bool *any = mem_array(bool, (size_t)v->jobs + 1); /* it has one of the shown cells */
    int *slot = mem_array(int, v->cells + 1);         /* one more than which is shown */
    double each = 1 / fmax(v->known_count - 1, 1);

    for (int o = 0; o < v->shown; o++)
        slot[v->shown_cells[o]] = o + 1;
    for (size_t i = 0; i < v->residual_count; i++) {
        const struct pair_residual *r = &v->residuals[i];

        if (slot[r->cell] == 0)
            continue;
        row[(size_t)r->job * shown + (size_t)slot[r->cell] - 1] = each * (double)r->value;
        any[r->job] = true;
    }
    for (size_t i = 0; i < v->residual_count; i++) {
        const struct pair_residual *r = &v->residuals[i];

        for (size_t o = 0; any[r->job] && o < shown; o++)
            out[o * v->cells + (size_t)r->cell] +=
                (double)r->value * row[(size_t)r->job * shown + o];
    }
    free(row);
    free(any);
    free(slot);
}

/* Lower Cholesky factor of what the shown cells vary by.  -1: there is none. */
static int factor_shown(const struct pair_sight *v, const double *seen, double odd,
                        double *factor)
{
    size_t shown = (size_t)v->shown;

    for (size_t o = 0; o < shown; o++) {
        int a = v->shown_cells[o];

        for (size_t p = 0; p < shown; p++)
            factor[o * shown + p] =
                (1 - SEEN_SHARE) * by_type(v, a, v->shown_cells[p], odd) +
                SEEN_SHARE * seen[o * v->cells + (size_t)v->shown_cells[p]];
        factor[o * shown + o] += NOISE_SHARE * own_var(v, a, 1) + NOISE_VAR;
    }
    return dense_cholesky(factor, shown, shown);
}

/* A job whose rate alone was measured wrong is off everywhere, further than any known
 * job: then what its row has in common is believed to vary as much as is seen. */
#define ODD_MOST 25.0

double pair_moments_below(const struct pair_sight *v)
{
    double factor[PAIR_SHOWN_MAX * PAIR_SHOWN_MAX], white[PAIR_SHOWN_MAX], sum = 0;
    int own[PAIR_SHOWN_MAX];
    size_t n = 0;

    for (int o = 0; o < v->shown; o++)
        if (v->shown_cells[o] < v->gpus * v->jobs) { /* own speeds come first */
            own[n] = v->shown_cells[o];
            white[n++] = v->shown_error[o];
            sum += v->shown_error[o];
        }
    if (n == 0 || sum >= 0)
        return 1;
    for (size_t a = 0; a < n; a++) {
        for (size_t b = 0; b < n; b++)
            factor[a * n + b] = by_type(v, own[a], own[b], 1);
        factor[a * n + a] = (1 + NOISE_SHARE) * factor[a * n + a] + NOISE_VAR;
    }
    if (dense_cholesky(factor, n, n) < 0)
        return 1;
    dense_solve(factor, n, n, false, white, 1);
    return fmin(fmax(dense_dot(white, white, n) / (double)n, 1), ODD_MOST);
}

static double oddity(const struct pair_sight *v, const double *seen, double *factor)
{
    size_t shown = (size_t)v->shown;
    double white[PAIR_SHOWN_MAX], square;

    if (factor_shown(v, seen, 1, factor) < 0)
        return 1;
    memcpy(white, v->shown_error, shown * sizeof(double));
    dense_solve(factor, shown, shown, false, white, 1);
    square = dense_dot(white, white, shown) / (double)shown;
    return fmin(fmax(square, 1), ODD_MOST);
}

void pair_moments_update(const struct pair_sight *v, const int *cells, size_t count,
                         double *weights, double *var)
{
    size_t shown = (size_t)v->shown;
    double *seen = mem_array(double, shown * v->cells + 1);
    double *factor = mem_array(double, shown *shown + 1);
    double *cross = mem_array(double, shown *count + 1);
    double *solved, odd = 1;

    if (shown > 0) {
        seen_together(v, seen);
        odd = oddity(v, seen, factor);
    }
    for (size_t q = 0; q < count; q++)
        var[q] = (1 + NOISE_SHARE) * own_var(v, cells[q], odd) + NOISE_VAR;
    if (shown == 0)
        goto done;
    for (size_t o = 0; o < shown; o++)
        for (size_t q = 0; q < count; q++)
            cross[o * count + q] =
                (1 - SEEN_SHARE) * by_type(v, v->shown_cells[o], cells[q], odd) +
                SEEN_SHARE * seen[o * v->cells + (size_t)cells[q]];
    if (factor_shown(v, seen, odd, factor) < 0) {
        memset(weights, 0, shown * count * sizeof(*weights));
        goto done;
    }
    solved = mem_dup(cross, shown * count, sizeof(*cross));
    dense_solve(factor, shown, shown, false, solved, count);
    dense_solve(factor, shown, shown, true, solved, count);
    for (size_t q = 0; q < count; q++) {
        for (size_t o = 0; o < shown; o++) {
            weights[q * shown + o] = solved[o * count + q];
            var[q] -= solved[o * count + q] * cross[o * count + q];
        }
        var[q] = fmax(var[q], 1e-4);
    }
    free(solved);
done:
    free(seen);
    free(factor);
    free(cross);
}
