/* eval_score.h - error and coverage of guesses, and their spread over seeds */
#pragma once

#include "lab/eval/estimator_method.h"

#include <stddef.h>

struct score; /* one method on one target */

struct score_summary {
    double mare;       /* mean |predicted - true| / true, % */
    double mare_sd;    /* over seeds */
    double median;     /* of the same, % */
    double log_error;  /* mean |ln predicted - ln true| */
    double coverage90; /* share of true values inside; NaN: no intervals */
    size_t cells;      /* scored a seed, on average */
};

struct score *score_create(void);
void score_destroy(struct score *score); /* NULL is fine */

/* truth and guess are logarithms; seed counts from 0. */
void score_add(struct score *score, int seed, struct guess guess, double truth);
struct score_summary score_sum(const struct score *score);

/* The value below which the given share of items lies; sorts them. */
double score_error_quantile(double *items, size_t count, double share);

/* Half an interval in units of sd, for a group never seen: errors come in groups (0 ..
 * groups - 1) that differ, so the quantile is chosen such that each group's errors lie
 * within that of the others as often as asked for. */
double score_fair_width(const double *errors, const int *group, size_t count, int groups,
                        double share);
