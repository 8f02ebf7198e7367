/* mean.c - see mean.h */
#include "loop/refine/mean.h"

#include "base/map.h"
#include "base/vec.h"

#include <assert.h>
#include <math.h>

/* Past this weight a level forgets as fast as it learns: about its last 30 windows count.
 */
#define WEIGHT_MAX 30.0

struct level {
    double mean;
    double weight;
    int observations;
};

struct mean_book {
    struct map *index; /* key -> levels */
    vec_of(struct level) levels;
};

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
        struct level *level;
        size_t at;

        if (!map_get(book->index, keys[i], &at)) {
            at = book->levels.count;
            vec_push(&book->levels, (struct level){0});
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
        const struct level *level;
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
