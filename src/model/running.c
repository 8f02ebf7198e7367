/* running.c - running means and variances, which job_effects.c, gangs.c and
 * learned_absorb.c push windows into */
#include "model/running.h"

#include "base/map.h"

#include <assert.h>
#include <limits.h>
#include <math.h>

/* A window further off than this, in the log, is odd: twice the noise one expects. */
#define ODD_LOG 0.12

/* Odd windows in a row on one side that make a change. */
#define ODD_RUN 2

/* The memory: a window's weight never falls below one over this. */
#define DRIFT_MEMORY 8.0

static void absorb(struct drift *d, double value)
{
    d->times = fmin(d->times + 1, DRIFT_MEMORY);
    d->mean += (value - d->mean) / d->times;
}

bool drift_push(struct drift *d, double value)
{
    double off = value - d->mean;

    if (d->times <= 0 || fabs(off) <= ODD_LOG) {
        d->odd = 0;
        d->odd_count = 0;
        absorb(d, value);
        return false;
    }
    if (d->odd_count > 0 && (d->odd / d->odd_count - d->mean) * off < 0) {
        d->odd = 0;
        d->odd_count = 0;
    }
    d->odd += value;
    d->odd_count++;
    if (d->odd_count < ODD_RUN) {
        absorb(d, d->mean + copysign(ODD_LOG, off));
        return false;
    }
    *d = (struct drift){.mean = d->odd / d->odd_count, .times = d->odd_count};
    return true;
}

void drift_shift(struct drift *d, double by)
{
    d->mean += by;
    d->odd += d->odd_count * by;
}

/* ---- variances pooled ------------------------------------------------------------- */

/* A sample further out than so many times the variance is an accident, not a measure. */
#define OUTLIER 12.0

/* About so many samples count; older ones fade. */
#define POOLED_MEMORY 400.0

struct pooled pooled_start(double var, double weight)
{
    return (struct pooled){var * weight, weight};
}

double pooled_var(const struct pooled *p)
{
    return p->sum / p->weight;
}

void pooled_add(struct pooled *p, double square)
{
    double keep = p->weight > POOLED_MEMORY ? 1 - 1 / POOLED_MEMORY : 1;

    p->sum = keep * p->sum + fmin(square, OUTLIER * pooled_var(p));
    p->weight = keep * p->weight + 1;
}

void pooled_code(struct pooled *p, struct codec *c)
{
    codec_at_least(c, &p->sum, 0);
    codec_at_least(c, &p->weight, 1e-3);
}

/* ---- means at several levels ------------------------------------------------------ */

/* Past this weight a level forgets as fast as it learns: about its last 30 windows count.
 */
#define WEIGHT_MAX 30.0

struct mean_book *mean_book_create(void)
{
    struct mean_book *book = mem_new(struct mean_book);

    book->index = map_create();
    return book;
}

void mean_book_destroy(struct mean_book *book)
{
    if (!book)
        return;
    map_destroy(book->index);
    vec_free(&book->levels);
    free(book);
}

void mean_book_add(struct mean_book *book, const uint64_t *keys, int count,
                   double residual, double weight)
{
    assert(count <= MEAN_MAX_LEVELS && isfinite(residual) && weight > 0);
    for (int i = 0; i < count; i++) {
        struct mean_level *level;
        size_t at;

        if (!map_get(book->index, keys[i], &at)) {
            at = book->levels.count;
            vec_push(&book->levels, (struct mean_level){.key = keys[i]});
            map_put(book->index, keys[i], at);
        }
        level = &book->levels.items[at];
        level->weight = fmin(level->weight + weight, WEIGHT_MAX);
        level->mean += (residual - level->mean) * fmin(1, weight / level->weight);
        level->observations++;
    }
}

struct mean_answer mean_book_ask(const struct mean_book *book, const uint64_t *keys,
                                 int count, const double *level_sd)
{
    struct mean_answer answer = {.sd = level_sd[0], .deepest = -1};

    for (int i = 0; i < count; i++) {
        const struct mean_level *level;
        double spread = level_sd[i + 1], precision;
        size_t at;

        if (!map_get(book->index, keys[i], &at))
            continue;
        level = &book->levels.items[at];
        /* Belief so far against this level's mean, each by its precision; what still
         * differs below the level widens the result again. */
        precision = level->weight / (spread * spread + 1e-4);
        double prior = 1 / (answer.sd * answer.sd);
        answer.mean =
            (answer.mean * prior + level->mean * precision) / (prior + precision);
        answer.sd = sqrt(1 / (prior + precision) + spread * spread);
        answer.deepest = i;
        answer.observations = level->observations;
    }
    return answer;
}

void mean_book_code(struct mean_book *book, struct codec *c)
{
    size_t count = codec_count(c, book->levels.count, SIZE_MAX / 32, 32);

    for (size_t i = 0; i < count; i++) {
        struct mean_level *level;

        if (c->in)
            vec_push(&book->levels, (struct mean_level){0});
        level = &book->levels.items[i];
        codec_u64(c, &level->key);
        codec_real(c, &level->mean);
        codec_at_least(c, &level->weight, 0);
        codec_int(c, &level->observations, 0, INT_MAX);
        if (c->in)
            map_put(book->index, level->key, i);
    }
}
