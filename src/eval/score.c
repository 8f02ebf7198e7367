/* score.c - see score.h */
#include "eval/score.h"

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

double score_error_quantile(double *items, size_t count, double share)
{
    double at, rest;
    size_t i;

    if (count == 0)
        return NAN;
    qsort(items, count, sizeof(*items), by_value);
    at = share * (double)(count - 1);
    i = (size_t)at;
    rest = at - (double)i;
    return i + 1 < count ? items[i] * (1 - rest) + items[i + 1] * rest : items[i];
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

/* Share of a group's errors within a width. */
static double inside(const double *errors, const int *group, size_t count, int of,
                     double width)
{
    size_t within = 0, all = 0;

    for (size_t i = 0; i < count; i++)
        if (group[i] == of) {
            within += errors[i] <= width;
            all++;
        }
    return all > 0 ? (double)within / (double)all : NAN;
}

/* How many errors of each group lie within the share-quantile of all other groups. */
static double covered(const double *errors, const int *group, size_t count, int groups,
                      double share, double *others)
{
    double sum = 0, used = 0;

    for (int g = 0; g < groups; g++) {
        double part;
        size_t n = 0;

        for (size_t i = 0; i < count; i++)
            if (group[i] != g)
                others[n++] = errors[i];
        part = n > 0 && n < count ? inside(errors, group, count, g,
                                           score_error_quantile(others, n, share))
                                  : NAN;
        if (!isnan(part)) {
            sum += part;
            used++;
        }
    }
    return used > 0 ? sum / used : NAN;
}

double score_fair_quantile(double *errors, const int *group, size_t count, int groups,
                           double share)
{
    static const double asked[] = {0, 0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.07};
    double *others = mem_array(double, count + 1);
    double chosen = share, result;

    for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
        chosen = share + asked[i];
        /* NaN, there is but one group: take the share as it is. */
        if (!(covered(errors, group, count, groups, chosen, others) < share))
            break;
    }
    free(others);
    result = score_error_quantile(errors, count, chosen);
    return result;
}
