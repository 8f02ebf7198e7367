/* eval_score.c - errors of estimates: the protocols add each, eval_results.c shows the
 * sums */
#include "lab/eval/eval_score.h"

#include "base/vec.h"

#include <math.h>

#define SCORE_MAX_SEEDS 64

struct score {
    vec_of(double) errors; /* relative, of all seeds */
    double seed_sum[SCORE_MAX_SEEDS];
    size_t seed_count[SCORE_MAX_SEEDS];
    double log_sum;
    size_t inside, with_interval;
};

struct score *score_create(void)
{
    return mem_new(struct score);
}

void score_destroy(struct score *score)
{
    if (!score)
        return;
    vec_free(&score->errors);
    free(score);
}

void score_add(struct score *score, int seed, struct guess guess, double truth)
{
    double error = fabs(expm1(guess.mid - truth));
    int at = seed < SCORE_MAX_SEEDS ? seed : SCORE_MAX_SEEDS - 1;

    vec_push(&score->errors, error);
    score->seed_sum[at] += error;
    score->seed_count[at]++;
    score->log_sum += fabs(guess.mid - truth);
    if (!isnan(guess.low) && !isnan(guess.high)) {
        score->with_interval++;
        score->inside += truth >= guess.low && truth <= guess.high;
    }
}

static int by_value(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

static double quantile_of(const double *sorted, size_t count, double share)
{
    double at = share * (double)(count - 1), rest;
    size_t i = (size_t)at;

    rest = at - (double)i;
    return i + 1 < count ? sorted[i] * (1 - rest) + sorted[i + 1] * rest : sorted[i];
}

double score_error_quantile(double *items, size_t count, double share)
{
    if (count == 0)
        return NAN;
    qsort(items, count, sizeof(*items), by_value);
    return quantile_of(items, count, share);
}

struct score_summary score_sum(const struct score *score)
{
    struct score_summary sum = {.mare = NAN, .mare_sd = 0, .coverage90 = NAN};
    size_t count = score->errors.count, seeds = 0;
    double mean = 0, square = 0, all = 0;
    double *copy;

    if (count == 0)
        return sum;
    for (int s = 0; s < SCORE_MAX_SEEDS; s++) {
        double mare;

        if (score->seed_count[s] == 0)
            continue;
        mare = 100 * score->seed_sum[s] / (double)score->seed_count[s];
        all += score->seed_sum[s];
        mean += mare;
        square += mare * mare;
        seeds++;
    }
    mean /= (double)seeds;
    sum.mare = 100 * all / (double)count;
    if (seeds > 1)
        sum.mare_sd = sqrt(fmax(square / (double)seeds - mean * mean, 0));
    copy = mem_dup(score->errors.items, count, sizeof(double));
    sum.median = 100 * score_error_quantile(copy, count, 0.5);
    free(copy);
    sum.log_error = score->log_sum / (double)count;
    if (score->with_interval > 0)
        sum.coverage90 = (double)score->inside / (double)score->with_interval;
    sum.cells = count / seeds;
    return sum;
}
