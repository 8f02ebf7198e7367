/* fold.h - what a method may see of a table, and the cells of a job that is held out
 *
 * Splits go by family or by job, never by row.  The cells of a held-out job are numbered:
 * its own speed on each GPU beside each catalogue job, then the effect it has on each. */
#pragma once

#include "base/rng.h"
#include "lab/eval/measured_table.h"
#include "model/rates.h"

#include <stdbool.h>
#include <stdint.h>

enum fold_split { FOLD_FAMILY, FOLD_JOB };

struct fold {
    const struct measured *table;
    enum fold_split split;
    int train_count;
    int *train; /* (train_count) jobs of the catalogue */
    int test_count;
    int *test; /* (test_count) held out */
    uint64_t seed;
    struct fold_fit **fit; /* the product's, made once for its variants; NULL: not kept */
};

void fold_fit_destroy(struct fold_fit *fit); /* NULL is fine */

/* All folds of a table; a job without a family counts as a family of its own.  The caller
 * frees with fold_free(). */
struct fold *fold_all(const struct measured *table, enum fold_split split, uint64_t seed,
                      size_t *count);
void fold_free(struct fold *folds, size_t count); /* NULL is fine */

/* The fold inside this fold that holds out what goes with its catalogue job number at. */
void fold_inner(const struct fold *fold, int at, struct fold *inner);
void fold_fini(struct fold *fold);

/* Cells of a held-out job: 0 .. 2 * fold_half - 1, own speeds first. */
static inline size_t fold_half(const struct fold *f)
{
    return (size_t)f->table->gpus * (size_t)f->train_count;
}

/* The table's cell behind a number. */
static inline struct cell fold_cell(const struct fold *f, int job, size_t index)
{
    size_t half = fold_half(f);
    size_t at = index % half;
    int gpu = (int)(at / (size_t)f->train_count);
    int other = f->train[at % (size_t)f->train_count];

    return index < half ? (struct cell){job, gpu, other} : (struct cell){other, gpu, job};
}

static inline double fold_value(const struct fold *f, int job, size_t index)
{
    struct cell c = fold_cell(f, job, index);

    return measured_pair(f->table, c.job, c.gpu, c.other);
}

/* A number for what is held out with a job, below families + jobs of the table. */
int fold_group(const struct fold *f, int job);

/* What was measured of pairs inside the catalogue: the caller frees both arrays, which
 * have room for `more` further ones. */
struct fold_cells {
    struct cell *cells;
    double *values;
    size_t count;
};
struct fold_cells fold_catalogue(const struct fold *f, size_t more);

/* The first `shown` of a job's own cells as a method sees them (2 * shown): with effect
 * both directions.  Returns how many. */
size_t fold_show(const struct fold *f, const size_t *known, size_t shown, bool effect,
                 size_t *seen);

/* The newest measurement of rates is taken back. */
void fold_take_back(struct rates *rates, int job, int gpu);

/* Own cells of a job that were measured in both directions; out has room for
 * fold_half(). */
size_t fold_known(const struct fold *f, int job, size_t *out);

/* Move `count` random items to the front. */
void fold_draw(struct rng *rng, size_t *items, size_t available, size_t count);
