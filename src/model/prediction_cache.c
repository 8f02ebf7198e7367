/* prediction_cache.c - answers that are kept: learned_predict.c asks it in place of
 * classes.c, and fills the factors of jobs */
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

struct cached_type { /* of a class on a type; version 0: never made */
    struct class_guess alone;
    uint64_t version, news;
    struct watts_guess watts;
    uint64_t watts_version, watts_news;
};

struct pair_marks { /* what there was when an answer on pairs was made */
    uint64_t news, all_news, lessons;
};

/* Answers for one kind and all others, its own speeds and its effects. */
struct cached_row {
    struct pairs_guess *guesses; /* (capacity, PAIR_KINDS, types) */
    double *core_sd;             /* as large */
    int width, capacity;         /* kinds answered for */
    double told_widths;          /* cells of this kind when widths were made */
    struct pair_marks made;
    int renewed; /* kinds of a renewal that is under way; 0: none is */
    bool widths; /* made anew by it */
    struct pair_marks begun;
};

struct cached_cell {
    struct class_guess guess;
    struct pair_marks made;
};

struct cached_class {
    uint64_t moved; /* answers on rates alone that changed by what others told */
};

struct prediction_cache {
    const struct classes *classes;
    uint64_t generation;
    int type_count;
    vec_of(struct cached_class) items; /* (classes) */
    vec_of(struct cached_row) rows;    /* (kinds) */
    vec_of(struct cached_type) types;  /* (classes, types) */
    enum prediction_cache_pairs pairs;
    long left;              /* cells of rows that may be made again */
    struct map *cell_index; /* class, type, other -> cells */
    vec_of(struct cached_cell) cells;
    struct map *jobs;                  /* id -> first of its factors */
    vec_of(struct job_factor) factors; /* (jobs, types) */
};

struct prediction_cache *prediction_cache_create(enum prediction_cache_pairs pairs)
{
    struct prediction_cache *cache = mem_new(struct prediction_cache);

    cache->pairs = pairs;
    cache->left = PREDICTION_CACHE_ALL;
    cache->cell_index = map_create();
    cache->jobs = map_create();
    return cache;
}

void prediction_cache_allow(struct prediction_cache *cache, long cells)
{
    cache->left = cells == PREDICTION_CACHE_ALL || cache->left == PREDICTION_CACHE_ALL
                      ? cells
                      : (cache->left < 0 ? cache->left : 0) + cells;
}

static void forget_cells(struct prediction_cache *cache)
{
    map_destroy(cache->cell_index);
    cache->cell_index = map_create();
    vec_clear(&cache->cells);
}

static void forget_classes(struct prediction_cache *cache)
{
    vec_each (struct cached_row, row, &cache->rows) {
        free(row->guesses);
        free(row->core_sd);
    }
    forget_cells(cache);
    vec_clear(&cache->items);
    vec_clear(&cache->rows);
    vec_clear(&cache->types);
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
    vec_free(&cache->rows);
    vec_free(&cache->types);
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
        cache->type_count = classes->type_count;
    }
    while (cache->rows.count < classes->kinds.count)
        vec_push(&cache->rows, (struct cached_row){0});
    while (cache->items.count < classes->states.count) {
        vec_push(&cache->items, (struct cached_class){0});
        for (int t = 0; t < cache->type_count; t++)
            vec_push(&cache->types, (struct cached_type){0});
    }
}

static struct cached_type *type_of(struct prediction_cache *cache, int cls, int type)
{
    return &cache->types.items[cls * cache->type_count + type];
}

uint64_t prediction_cache_version(const struct prediction_cache *cache, int cls)
{
    return cache->classes->states.items[cls].version + cache->items.items[cls].moved;
}

struct class_guess prediction_cache_alone(struct prediction_cache *cache, int cls,
                                          int type)
{
    struct cached_type *kept = type_of(cache, cls, type);
    const struct classes_news *all = &cache->classes->news;
    uint64_t version = prediction_cache_version(cache, cls);
    bool old = (double)(all->alone - kept->news) > NEWS_SHARE * (double)all->alone_cells;

    if (kept->version == version && (!old || kept->alone.measured))
        return kept->alone;
    kept->alone = classes_alone(cache->classes, NULL, cls, type);
    if (kept->version == version) { /* others moved it: what rests on it is old too */
        cache->items.items[cls].moved++;
        version++;
    }
    kept->version = version;
    kept->news = all->alone;
    return kept->alone;
}

struct watts_guess prediction_cache_watts(struct prediction_cache *cache, int cls,
                                          int type)
{
    struct cached_type *kept = type_of(cache, cls, type);
    const struct classes_news *all = &cache->classes->news;
    uint64_t version = cache->classes->states.items[cls].watts_version;

    if (kept->watts_version != version || (double)(all->watts - kept->watts_news) >
                                              NEWS_SHARE * (double)cache->items.count) {
        kept->watts = watts_predict_of(cache->classes->watts, cls,
                                       cache->classes->states.items[cls].kind, type);
        kept->watts_version = version;
        kept->watts_news = all->watts;
    }
    return kept->watts;
}

/* ---- rows of pairs ----------------------------------------------------------------- */

static void widen_row(struct cached_row *row, int types, int wanted)
{
    size_t each = PAIR_KINDS * (size_t)types, old = (size_t)row->capacity * each, new;

    if (wanted <= row->capacity)
        return;
    while (row->capacity < wanted)
        row->capacity = row->capacity ? 2 * row->capacity : 32;
    new = (size_t)row->capacity *each;
    row->guesses = mem_resize(row->guesses, old, new, sizeof(*row->guesses));
    row->core_sd = mem_resize(row->core_sd, old, new, sizeof(*row->core_sd));
}

/* Make answers for so many kinds from `first` on, widths only where asked for. */
static void fill_row(struct prediction_cache *cache, int kind, int first, int count,
                     bool widths)
{
    struct cached_row *row = &cache->rows.items[kind];
    size_t each = PAIR_KINDS * (size_t)cache->type_count, at = (size_t)first * each;

    widen_row(row, cache->type_count, first + count);
    pairs_renew_row(cache->classes->pairs, kind, first, (size_t)count, widths,
                    row->core_sd + at, row->guesses + at);
    if (first + count > row->width)
        row->width = first + count;
    if (cache->left < PREDICTION_CACHE_ALL)
        cache->left -= count * (long)each;
}

/* Of what an answer on pairs of a kind was made. */
static struct pair_marks marks_of(const struct prediction_cache *cache, int kind)
{
    const struct classes_news *all = &cache->classes->news;

    return (struct pair_marks){cache->classes->kinds.items[kind].pair_news, all->pairs,
                               all->lessons};
}

/* Has too much been told since? */
static bool is_old(const struct prediction_cache *cache, int kind,
                   const struct pair_marks *made)
{
    const struct classes *c = cache->classes;
    struct pair_marks now = marks_of(cache, kind);

    return made->lessons != now.lessons ||
           (double)(now.news - made->news) >
               ROW_NEWS_SHARE * c->kinds.items[kind].pair_cells ||
           (double)(now.all_news - made->all_news) > NEWS_SHARE * (double)c->beside.count;
}

static void begin_renewal(struct prediction_cache *cache, int kind)
{
    struct cached_row *row = &cache->rows.items[kind];
    double cells = cache->classes->kinds.items[kind].pair_cells;

    row->widths = row->width == 0 || row->made.lessons != cache->classes->news.lessons ||
                  cells + 1 > WIDTHS_GROWTH * (row->told_widths + 1);
    if (row->widths)
        row->told_widths = cells;
    row->begun = marks_of(cache, kind);
}

/* As much of the row as may be made now; the rest is as it was until the next turn. */
static void renew_row(struct prediction_cache *cache, int kind)
{
    struct cached_row *row = &cache->rows.items[kind];
    int all = (int)cache->rows.count, count = all - row->renewed;
    long each = PAIR_KINDS * (long)cache->type_count;

    if (row->renewed == 0)
        begin_renewal(cache, kind);
    if (row->width < all && row->width > 0)
        fill_row(cache, kind, row->width, all - row->width, true);
    if (row->width > 0 && cache->left / each < count - 1)
        count = cache->left > 0 ? (int)(cache->left / each) + 1 : 1;
    fill_row(cache, kind, row->renewed, count, row->widths);
    row->renewed += count;
    if (row->renewed < all)
        return;
    row->made = row->begun;
    row->renewed = 0;
}

static struct class_guess cell_beside(struct prediction_cache *cache, struct cell cell)
{
    static const struct class_guests none;
    int job = pairs_less_known(cache->classes->pairs, cell);
    struct cached_cell *kept;
    size_t at;
    bool made = false;

    if (!map_get(cache->cell_index, cell_key(cell), &at)) {
        if (cache->cells.count >= CELLS_MOST)
            forget_cells(cache);
        at = cache->cells.count;
        map_put(cache->cell_index, cell_key(cell), at);
        vec_push(&cache->cells, (struct cached_cell){0});
        made = true;
    }
    kept = &cache->cells.items[at];
    if (made || is_old(cache, job, &kept->made))
        *kept = (struct cached_cell){
            classes_beside(cache->classes, &none, cell.job, cell.gpu, cell.other),
            marks_of(cache, job)};
    return kept->guess;
}

struct class_guess prediction_cache_beside(struct prediction_cache *cache, int kind,
                                           int type, int other)
{
    struct cell cell = {kind, type, other};
    int job = pairs_less_known(cache->classes->pairs, cell);
    int side = job == kind ? PAIR_OWN : PAIR_EFFECT, beside = job == kind ? other : kind;
    struct cached_row *row = &cache->rows.items[job];

    if (cache->pairs == PREDICTION_CACHE_CELLS)
        return cell_beside(cache, cell);
    if (row->width == 0 || (cache->left > 0 && is_old(cache, job, &row->made)))
        renew_row(cache, job);
    if (beside >= row->width)
        fill_row(cache, job, row->width, (int)cache->rows.count - row->width, true);
    return classes_guess_of(
        &row->guesses[(beside * PAIR_KINDS + side) * cache->type_count + type]);
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
