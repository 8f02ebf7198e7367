/* prediction_cache.c - see prediction_cache.h
 *
 * learned_predict.c asks it in place of classes.c, and fills the factors of jobs. */
#include "model/prediction_cache.h"

#include "base/map.h"
#include "base/mem.h"
#include "base/vec.h"

#include <stdlib.h>

/* An answer from other cells holds until this share of all cells is news. */
#define NEWS_SHARE 0.125

/* The same for a row of pairs, of the cells that were told of it. */
#define ROW_NEWS_SHARE 0.2

/* Widths cost most and only shrink: made again when the row knows so many times more. */
#define WIDTHS_GROWTH 1.5

/* Cells kept one by one; then all are dropped. */
#define CELLS_MOST 16384

/* Jobs whose factors are kept; then all are dropped, those that left long ago too. */
#define JOBS_MOST 4096

struct cached_alone {
    struct class_guess guess;
    uint64_t version, news; /* version 0: never made */
};

struct cached_watts {
    struct watts_guess guess;
    uint64_t version, news;
};

struct cached_row {              /* answers for one class beside all others */
    struct pairs_guess *guesses; /* (capacity, types) */
    double *core_sd;             /* (capacity, types) */
    int width, capacity;         /* classes answered for */
    double told_widths;          /* cells of this class when widths were made */
    uint64_t news, all_news, lessons;
};

struct cached_cell {
    struct class_guess guess;
    uint64_t news, all_news, lessons;
};

struct cached_class {
    uint64_t moved; /* answers on rates alone that changed by what others told */
    struct cached_row row;
};

struct prediction_cache {
    const struct classes *classes;
    uint64_t generation;
    int type_count;
    vec_of(struct cached_class) items; /* (classes) */
    vec_of(struct cached_alone) alone; /* (classes, types) */
    vec_of(struct cached_watts) watts; /* (classes, types) */
    enum prediction_cache_pairs pairs;
    struct map *cell_index; /* class, type, other -> cells */
    vec_of(struct cached_cell) cells;
    struct map *jobs;                  /* id -> first of its factors */
    vec_of(struct job_factor) factors; /* (jobs, types) */
};

struct prediction_cache *prediction_cache_create(enum prediction_cache_pairs pairs)
{
    struct prediction_cache *cache = mem_new(struct prediction_cache);

    cache->pairs = pairs;
    cache->cell_index = map_create();
    cache->jobs = map_create();
    return cache;
}

static void forget_cells(struct prediction_cache *cache)
{
    map_destroy(cache->cell_index);
    cache->cell_index = map_create();
    vec_clear(&cache->cells);
}

static void forget_classes(struct prediction_cache *cache)
{
    vec_each (struct cached_class, cls, &cache->items) {
        free(cls->row.guesses);
        free(cls->row.core_sd);
    }
    forget_cells(cache);
    vec_clear(&cache->items);
    vec_clear(&cache->alone);
    vec_clear(&cache->watts);
}

static void forget_jobs(struct prediction_cache *cache)
{
    map_destroy(cache->jobs);
    cache->jobs = map_create();
    vec_clear(&cache->factors);
}

void prediction_cache_destroy(struct prediction_cache *cache)
{
    if (!cache)
        return;
    forget_classes(cache);
    vec_free(&cache->items);
    vec_free(&cache->alone);
    vec_free(&cache->watts);
    vec_free(&cache->factors);
    vec_free(&cache->cells);
    map_destroy(cache->cell_index);
    map_destroy(cache->jobs);
    free(cache);
}

void prediction_cache_sync(struct prediction_cache *cache, const struct classes *classes,
                           uint64_t generation)
{
    if (cache->classes != classes || cache->generation != generation) {
        forget_classes(cache);
        forget_jobs(cache);
        cache->classes = classes;
        cache->generation = generation;
        cache->type_count = classes_type_count(classes);
    }
    while (cache->items.count < classes_count(classes)) {
        vec_push(&cache->items, (struct cached_class){0});
        for (int t = 0; t < cache->type_count; t++) {
            vec_push(&cache->alone, (struct cached_alone){0});
            vec_push(&cache->watts, (struct cached_watts){0});
        }
    }
}

static size_t cell_of(const struct prediction_cache *cache, int cls, int type)
{
    return (size_t)cls * (size_t)cache->type_count + (size_t)type;
}

uint64_t prediction_cache_version(const struct prediction_cache *cache, int cls)
{
    return classes_marks(cache->classes, cls).version + cache->items.items[cls].moved;
}

struct class_guess prediction_cache_alone(struct prediction_cache *cache, int cls,
                                          int type)
{
    struct cached_alone *kept = &cache->alone.items[cell_of(cache, cls, type)];
    struct classes_news all = classes_news(cache->classes);
    uint64_t version = prediction_cache_version(cache, cls);
    bool old = (double)(all.alone - kept->news) > NEWS_SHARE * (double)all.alone_cells;

    if (kept->version == version && (!old || kept->guess.measured))
        return kept->guess;
    kept->guess = classes_alone(cache->classes, cls, type);
    if (kept->version == version) { /* others moved it: what rests on it is old too */
        cache->items.items[cls].moved++;
        version++;
    }
    kept->version = version;
    kept->news = all.alone;
    return kept->guess;
}

struct watts_guess prediction_cache_watts(struct prediction_cache *cache, int cls,
                                          int type)
{
    struct cached_watts *kept = &cache->watts.items[cell_of(cache, cls, type)];
    struct classes_news all = classes_news(cache->classes);
    uint64_t version = classes_marks(cache->classes, cls).watts_version;

    if (kept->version != version ||
        (double)(all.watts - kept->news) > NEWS_SHARE * (double)cache->items.count)
        *kept = (struct cached_watts){classes_watts(cache->classes, cls, type), version,
                                      all.watts};
    return kept->guess;
}

/* ---- rows of pairs ----------------------------------------------------------------- */

static void widen_row(struct cached_row *row, int types, int wanted)
{
    size_t old = (size_t)row->capacity * (size_t)types, new;

    if (wanted <= row->capacity)
        return;
    while (row->capacity < wanted)
        row->capacity = row->capacity ? 2 * row->capacity : 32;
    new = (size_t)row->capacity *(size_t)types;
    row->guesses = mem_resize(row->guesses, old, new, sizeof(*row->guesses));
    row->core_sd = mem_resize(row->core_sd, old, new, sizeof(*row->core_sd));
}

/* Make answers for the classes from `first` on, widths only where asked for. */
static void fill_row(struct prediction_cache *cache, int cls, int first, bool widths)
{
    struct cached_row *row = &cache->items.items[cls].row;
    size_t types = (size_t)cache->type_count;
    size_t count = cache->items.count - (size_t)first;
    int *others = mem_array(int, count + 1);
    struct pairs_guess *guesses = mem_array(struct pairs_guess, types * count + 1);
    double *sd = mem_array(double, types *count + 1);

    widen_row(row, cache->type_count, (int)cache->items.count);
    for (size_t i = 0; i < count; i++) {
        others[i] = first + (int)i;
        for (size_t t = 0; t < types; t++)
            sd[t * count + i] = row->core_sd[((size_t)first + i) * types + t];
    }
    classes_beside_row(cache->classes, cls, others, count, widths, sd, guesses);
    for (size_t i = 0; i < count; i++)
        for (size_t t = 0; t < types; t++) {
            row->guesses[((size_t)first + i) * types + t] = guesses[t * count + i];
            row->core_sd[((size_t)first + i) * types + t] = sd[t * count + i];
        }
    row->width = (int)cache->items.count;
    free(others);
    free(guesses);
    free(sd);
}

static void renew_row(struct prediction_cache *cache, int cls,
                      const struct class_marks *marks, const struct classes_news *all)
{
    struct cached_row *row = &cache->items.items[cls].row;
    bool widths = row->width == 0 || row->lessons != all->lessons ||
                  marks->pair_cells + 1 > WIDTHS_GROWTH * (row->told_widths + 1);

    if (row->width < (int)cache->items.count && row->width > 0)
        fill_row(cache, cls, row->width, true);
    fill_row(cache, cls, 0, widths);
    if (widths)
        row->told_widths = marks->pair_cells;
    row->news = marks->pair_news;
    row->all_news = all->pairs;
    row->lessons = all->lessons;
}

/* Has too much been told since an answer on pairs of this class was made? */
static bool pairs_are_old(const struct class_marks *marks, const struct classes_news *all,
                          uint64_t news, uint64_t all_news, uint64_t lessons)
{
    return lessons != all->lessons ||
           (double)(marks->pair_news - news) > ROW_NEWS_SHARE * marks->pair_cells ||
           (double)(all->pairs - all_news) > NEWS_SHARE * (double)all->pair_cells;
}

static struct class_guess cell_beside(struct prediction_cache *cache, struct cell cell,
                                      const struct class_marks *marks,
                                      const struct classes_news *all)
{
    static const struct class_guests none;
    uint64_t key =
        (uint64_t)cell.job << 40 | (uint64_t)cell.gpu << 32 | (uint64_t)cell.other;
    struct cached_cell *kept;
    size_t at;
    bool made = false;

    if (!map_get(cache->cell_index, key, &at)) {
        if (cache->cells.count >= CELLS_MOST)
            forget_cells(cache);
        at = cache->cells.count;
        map_put(cache->cell_index, key, at);
        vec_push(&cache->cells, (struct cached_cell){0});
        made = true;
    }
    kept = &cache->cells.items[at];
    if (made || pairs_are_old(marks, all, kept->news, kept->all_news, kept->lessons))
        *kept = (struct cached_cell){
            classes_beside(cache->classes, &none, cell.job, cell.gpu, cell.other),
            marks->pair_news, all->pairs, all->lessons};
    return kept->guess;
}

struct class_guess prediction_cache_beside(struct prediction_cache *cache, int cls,
                                           int type, int other)
{
    struct class_marks marks = classes_marks(cache->classes, cls);
    struct classes_news all = classes_news(cache->classes);
    struct cached_row *row = &cache->items.items[cls].row;

    if (cache->pairs == PREDICTION_CACHE_CELLS)
        return cell_beside(cache, (struct cell){cls, type, other}, &marks, &all);
    if (row->width == 0 ||
        pairs_are_old(&marks, &all, row->news, row->all_news, row->lessons))
        renew_row(cache, cls, &marks, &all);
    else if (other >= row->width)
        fill_row(cache, cls, row->width, true);
    return classes_guess_of(&row->guesses[other * cache->type_count + type]);
}

/* ---- jobs -------------------------------------------------------------------------- */

struct job_factor *prediction_cache_factor(struct prediction_cache *cache, uint64_t job,
                                           int type)
{
    size_t types = (size_t)cache->type_count, at;

    if (!map_get(cache->jobs, job, &at)) {
        if (cache->factors.count >= JOBS_MOST * types)
            forget_jobs(cache);
        at = cache->factors.count;
        map_put(cache->jobs, job, at);
        for (size_t t = 0; t < types; t++)
            vec_push(&cache->factors, (struct job_factor){0});
    }
    return &cache->factors.items[at + (size_t)type];
}
