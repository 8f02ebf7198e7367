/* eval_score.c - errors of estimates: the protocols add each, eval_results.c shows the
 * sums */
#include "lab/eval/eval_score.h"

#include "base/mem.h"
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

/* ---- widths for a group never seen ------------------------------------------------- */

#define SHARES     8
#define SHARE_STEP 0.01

struct grouped {
    double error;
    int group;
};

static int by_error(const void *a, const void *b)
{
    const struct grouped *x = a, *y = b;

    return (x->error > y->error) - (x->error < y->error);
}

/* How much of one group lies within quantiles of all others; false when it or they are
 * empty.  room (count) is scratch. */
static bool add_covered(const struct grouped *sorted, size_t count, int group,
                        double share, double covered[SHARES], double *room)
{
    size_t others = 0, own = 0, inside[SHARES] = {0};
    double width[SHARES];

    for (size_t i = 0; i < count; i++)
        if (sorted[i].group != group)
            room[others++] = sorted[i].error;
    own = count - others;
    if (own == 0 || others == 0)
        return false;
    for (int s = 0; s < SHARES; s++)
        width[s] = quantile_of(room, others, fmin(share + s * SHARE_STEP, 1));
    for (size_t i = 0; i < count; i++)
        for (int s = 0; s < SHARES && sorted[i].group == group; s++)
            inside[s] += sorted[i].error <= width[s];
    for (int s = 0; s < SHARES; s++)
        covered[s] += (double)inside[s] / (double)own;
    return true;
}

double score_fair_width(const double *errors, const int *group, size_t count, int groups,
                        double share)
{
    struct grouped *sorted = mem_array(struct grouped, count + 1);
    double *room = mem_array(double, count + 1), covered[SHARES] = {0}, result;
    int used = 0, s = 0;

    for (size_t i = 0; i < count; i++)
        sorted[i] = (struct grouped){errors[i], group[i]};
    qsort(sorted, count, sizeof(*sorted), by_error);
    for (int g = 0; g < groups; g++)
        used += add_covered(sorted, count, g, share, covered, room);
    while (used > 0 && s + 1 < SHARES && covered[s] < share * used)
        s++;
    for (size_t i = 0; i < count; i++)
        room[i] = sorted[i].error;
    result = quantile_of(room, count, fmin(share + s * SHARE_STEP, 1));
    free(sorted);
    free(room);
    return result;
}
