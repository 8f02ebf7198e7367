/* running.h - the value of one cell as measurements come in, and whether it has changed
 *
 * Every measurement is a window; old ones lose weight.  A sudden change (driver update,
 * throttling) shows as two windows in a row far off on the same side: then the past is
 * dropped and the new level learned at once.  One odd window alone moves little. */
#pragma once

#include "base/vec.h"
#include "model/codec.h"

struct drift {
    double mean;  /* of the log value */
    double times; /* windows behind it, fading */
    double odd;   /* sum of windows in a row that were far off */
    int odd_count;
};

/* Take a window; true when a sudden change was found and the past dropped. */
bool drift_push(struct drift *drift, double value);

/* All windows so far were taken under other circumstances: they would have been this much
 * higher. */
void drift_shift(struct drift *drift, double by);

/* ------------------------------------------------------------------------------------ */

/* Variances learned from many small samples
 *
 * How noisy windows are, how far jobs of one class differ: each sample tells little, so
 * they are pooled, start from a prior that counts as some samples, and fade. */

struct pooled {
    double sum, weight; /* of squares */
};

/* Start at a variance that counts as so many samples. */
struct pooled pooled_start(double var, double weight);

double pooled_var(const struct pooled *pool);

/* A squared deviation; one far out counts as if it were nearer. */
void pooled_add(struct pooled *pool, double square);

void pooled_code(struct pooled *pool, struct codec *c);

/* ------------------------------------------------------------------------------------ */

/* Running means of residuals at several levels of likeness
 *
 * A residual is log(observed / expected).  It is booked under several keys at once, from
 * the widest ("everything") to the narrowest ("this job on this GPU"); a question names
 * its keys in the same order and gets the means shrunk into one another: a level speaks
 * the louder the more it has seen.  Old observations lose weight, so that drift is
 * followed. */

#define MEAN_MAX_LEVELS 8

struct mean_level {
    uint64_t key;
    double mean;
    double weight;
    int observations;
};

struct mean_book {
    struct map *index; /* key -> levels */
    vec_of(struct mean_level) levels;
};

struct mean_answer {
    double mean;      /* of the residual: add it to the log of what was expected */
    double sd;        /* of the belief */
    int deepest;      /* index of the narrowest level that has seen anything, -1: none */
    int observations; /* there */
};

struct mean_book *mean_book_create(void);
void mean_book_destroy(struct mean_book *book); /* NULL is fine */

/* Keys from widest to narrowest; count <= MEAN_MAX_LEVELS.  weight in (0, 1]. */
void mean_book_add(struct mean_book *book, const uint64_t *keys, int count,
                   double residual, double weight);

/* level_sd[i]: how far things that agree up to level i still differ below it; level_sd[0]
 * belongs to the prior before any level, so there are count + 1 of them. */
struct mean_answer mean_book_ask(const struct mean_book *book, const uint64_t *keys,
                                 int count, const double *level_sd);

/* For checkpoints; reading starts from an empty one. */
void mean_book_code(struct mean_book *book, struct codec *c);
