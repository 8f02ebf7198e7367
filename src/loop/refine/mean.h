/* mean.h - running means of residuals at several levels of likeness
 *
 * A residual is log(observed / expected).  It is booked under several keys at once, from
 * the widest ("everything") to the narrowest ("this job on this GPU"); a question names
 * its keys in the same order and gets the means shrunk into one another: a level speaks
 * the louder the more it has seen.  Old observations lose weight, so that drift is
 * followed. */
#ifndef CORGI_LOOP_REFINE_MEAN_H
#define CORGI_LOOP_REFINE_MEAN_H

#include "loop/core/bytes.h"

#include <stdbool.h>
#include <stdint.h>

#define MEAN_MAX_LEVELS 8

struct mean_book;

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

/* How many levels it holds, over all keys. */
size_t mean_book_count(const struct mean_book *book);

/* For checkpoints; reading starts from an empty one. */
void mean_book_write(const struct mean_book *book, struct bytes_out *out);
void mean_book_read(struct mean_book *book, struct bytes_in *in);

#endif
