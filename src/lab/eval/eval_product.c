/* eval_product.c - the product as a method: colocated.c asks it fold by fold
 *
 * Nothing is estimated here: the catalogue of a fold is told to the pairs of the daemon's
 * model (model/pairs.h), a lesson is held, and what it would answer after the
 * measurements that are shown is asked for (model/pairs_game.h). */
#include "lab/eval/estimator_method.h"

#include "base/mem.h"
#include "model/learned_lesson.h"
#include "model/p2.h"
#include "model/pairs_game.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct networks {
    struct attention *p1, *p2;
};

struct fold_fit {
    struct pairs *pairs;
    struct networks shipped[SET_READER_KINDS]; /* when first asked for */
    struct pairs_game **games;                 /* (jobs) made when first asked for */
    int jobs;
};

void fold_fit_destroy(struct fold_fit *fit)
{
    if (!fit)
        return;
    for (int j = 0; j < fit->jobs; j++)
        pairs_game_destroy(fit->games[j]);
    for (int kind = 0; kind < SET_READER_KINDS; kind++) {
        attention_destroy(fit->shipped[kind].p1);
        attention_destroy(fit->shipped[kind].p2);
    }
    pairs_destroy(fit->pairs);
    free(fit->games);
    free(fit);
}

struct pairs *eval_pairs_create(const struct measured *t)
{
    struct pairs *p = pairs_create();

    for (int g = 0; g < t->gpus; g++)
        pairs_add_gpu(p, &t->gpu[g]);
    for (int j = 0; j < t->jobs; j++) {
        pairs_add_job(p, &t->job[j]);
        pairs_set_rates(p, j, t->alone + (long)j * t->gpus);
        pairs_set_counters(p, j, &t->counted[j]);
    }
    return p;
}

void eval_pairs_study(struct pairs *p, uint64_t seed)
{
    struct learned_lesson *lesson = learned_lesson_begin(p, seed);

    learned_lesson_study(lesson);
    learned_lesson_end(lesson, p);
}

/* Both directions of a pair are in or out together where there are too many. */
static bool in_sample(const struct fold *fold, struct cell cell, size_t all)
{
    uint64_t low = (uint64_t)(cell.job < cell.other ? cell.job : cell.other);
    uint64_t high = (uint64_t)(cell.job < cell.other ? cell.other : cell.job);
    uint64_t draw = rng_mix(rng_mix(low, high), rng_mix((uint64_t)cell.gpu, fold->seed));

    return all <= EVAL_PAIRS_MAX || draw % all < EVAL_PAIRS_MAX;
}

static struct fold_fit *fit_fold(const struct fold *fold)
{
    struct fold_fit *fit = mem_new(struct fold_fit);
    struct fold_cells all = fold_catalogue(fold, 0);

    fit->jobs = fold->table->jobs;
    fit->games = mem_array(struct pairs_game *, (size_t)fit->jobs + 1);
    fit->pairs = eval_pairs_create(fold->table);
    for (size_t i = 0; i < all.count && fit->pairs->core->count < PAIRS_MAX - 1; i++)
        if (in_sample(fold, all.cells[i], all.count))
            pairs_put(fit->pairs, all.cells[i], all.values[i], 0);
    pairs_settle(fit->pairs);
    eval_pairs_study(fit->pairs, fold->seed);
    free(all.cells);
    free(all.values);
    return fit;
}

/* ---- the methods --------------------------------------------------------------------
 */

static const struct {
    const char *name;
    unsigned without; /* experts left out */
    int kind;         /* networks as they ship; -1: as the fold's catalogue taught them */
} variants[] = {
    {"blend", 0, -1},
    {"core", ~(1u << BLEND_CORE), -1},
    {"networks", ~(1u << BLEND_NETWORK), -1},
    {"rows", ~(1u << BLEND_ROWS), -1},
    {"without core", 1u << BLEND_CORE, -1},
    {"without networks", 1u << BLEND_NETWORK, -1},
    {"without rows", 1u << BLEND_ROWS, -1},
    {"without nearest", 1u << BLEND_COLUMN | 1u << BLEND_NEAREST, -1},
    {"without learning", 0, SET_READER_FF},
    {"blend with gru", 0, SET_READER_GRU},
    {"blend with transformer", 0, SET_READER_TRANSFORMER},
    {"model ff", ~(1u << BLEND_NETWORK), SET_READER_FF},
    {"model gru", ~(1u << BLEND_NETWORK), SET_READER_GRU},
    {"model transformer", ~(1u << BLEND_NETWORK), SET_READER_TRANSFORMER},
};

struct product {
    const struct fold *fold;
    unsigned without;
    int kind;
};

static void *fit(const struct fold *fold, const char *name)
{
    struct product *p = mem_new(struct product);
    size_t at = 0;

    p->fold = fold;
    while (strcmp(variants[at].name, name))
        at++;
    p->without = variants[at].without;
    p->kind = variants[at].kind;
    if (!*fold->fit)
        *fold->fit = fit_fold(fold);
    return p;
}

static struct pairs_game *game_of(const struct fold *fold, int job)
{
    struct fold_fit *fit = *fold->fit;
    size_t count = 2 * fold_half(fold);
    struct cell *cells;

    if (fit->games[job])
        return fit->games[job];
    cells = mem_array(struct cell, count + 1);
    for (size_t i = 0; i < count; i++)
        cells[i] = fold_cell(fold, job, i);
    fit->games[job] = pairs_game_create(fit->pairs, job, cells, count);
    free(cells);
    return fit->games[job];
}

/* The networks of a variant in place of the pairs' own, which are returned. */
static struct networks use_networks(struct fold_fit *fit, int kind)
{
    struct networks own = {fit->pairs->p1, fit->pairs->p2};

    if (kind < 0)
        return own;
    if (!fit->shipped[kind].p1)
        fit->shipped[kind] = (struct networks){p1_shipped((enum set_reader_kind)kind),
                                               p2_shipped((enum set_reader_kind)kind)};
    fit->pairs->p1 = fit->shipped[kind].p1;
    fit->pairs->p2 = fit->shipped[kind].p2;
    return own;
}

static void predict(void *self, int job, const size_t *seen, size_t seen_count,
                    bool effect, struct guess *out)
{
    struct product *p = self;
    size_t half = fold_half(p->fold), first = effect ? half : 0;
    struct pairs_game *game = game_of(p->fold, job);
    struct fold_fit *fit = *p->fold->fit;
    struct networks own;
    size_t *asked = mem_array(size_t, half + 1);
    double *values = mem_array(double, seen_count + 1);
    struct pairs_guess *guesses = mem_array(struct pairs_guess, half + 1);

    for (size_t i = 0; i < half; i++)
        asked[i] = first + i;
    for (size_t i = 0; i < seen_count; i++)
        values[i] = fold_value(p->fold, job, seen[i]);
    fit->pairs->without = p->without;
    own = use_networks(fit, p->kind);
    pairs_game_play(game, seen, values, seen_count, asked, half, guesses, NULL);
    fit->pairs->p1 = own.p1;
    fit->pairs->p2 = own.p2;
    for (size_t i = 0; i < half; i++)
        out[first + i] = (struct guess){guesses[i].mean, guesses[i].low, guesses[i].high};
    free(asked);
    free(values);
    free(guesses);
}

const struct method method_product[] = {
    {"blend", fit, predict, free},
    {"core", fit, predict, free},
    {"networks", fit, predict, free},
    {"rows", fit, predict, free},
    {"without core", fit, predict, free},
    {"without networks", fit, predict, free},
    {"without rows", fit, predict, free},
    {"without nearest", fit, predict, free},
    {"without learning", fit, predict, free},
    {"blend with gru", fit, predict, free},
    {"blend with transformer", fit, predict, free},
    {"model ff", fit, predict, free},
    {"model gru", fit, predict, free},
    {"model transformer", fit, predict, free},
    {NULL, NULL, NULL, NULL},
};
