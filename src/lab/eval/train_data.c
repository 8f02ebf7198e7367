/* train_data.c - training rows of pairs from synthetic worlds, for train.c */
#include "lab/eval/train_data.h"

#include "base/mem.h"
#include "base/vec.h"
#include "lab/eval/fold.h"
#include "lab/eval/arrival_stream.h"
#include "world/generate.h"
#include "lab/tables/invented_gpus.h"

#include <math.h>
#include <stdlib.h>

#define ARRIVALS_MAX  300
#define JOBS_MIN      8
#define JOBS_MAX      40
#define ROWS_A_JOB    12
#define JOBS_A_STREAM 10
#define CELLS_A_FOLD  60
#define SHOWN_MOST    10

/* What users tell of the work is off by this much, as log sd over three. */
#define TOLD_SD 0.13

struct pairs_builder {
    vec_of(struct statnet_row) rows;
    const struct measured *table;
    struct rng *rng;
    bool initial;
};

static struct stats *empty_stats(const struct measured *t)
{
    struct stats *stats = stats_create();

    for (int j = 0; j < t->jobs; j++)
        stats_add_job(stats, &t->job[j]);
    stats->gpus = t->gpus;
    return stats;
}

static void add_row(struct pairs_builder *b, struct stats_row *row, struct cell cell)
{
    struct statnet_row r;
    double truth = measured_pair(b->table, cell.job, cell.gpu, cell.other);
    struct stats_cell known;

    if (isnan(truth))
        return;
    known = stats_features(row, cell.gpu, cell.other, false, r.x);
    if (known.times > 0)
        return;
    r.base = (float)known.base;
    r.target = (float)truth;
    vec_push(&b->rows, r);
}

static bool appears(const struct stats_seen *s, int job)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->cells[i].job == job)
            return true;
    return false;
}

static void from_stream(struct pairs_builder *b)
{
    static const int cuts[] = {5, 10, 20, 40, 80, 150, 300};
    const struct measured *t = b->table;
    struct arrival_stream *s = arrival_stream_create(t, ARRIVALS_MAX, b->rng);
    struct stats *stats = empty_stats(t);
    int cut = cuts[rng_below(b->rng, 7)];
    struct stats_seen seen = {s->cells, s->values, 0};

    while (seen.count < s->count && s->arrival[seen.count] < cut)
        seen.count++;
    for (int n = 0; n < JOBS_A_STREAM; n++) {
        int job = (int)rng_below(b->rng, (size_t)t->jobs);
        struct stats_row *row;

        if (b->initial && appears(&seen, job))
            continue;
        row = stats_row_create(stats, &seen, job, NULL);
        for (int i = 0; i < ROWS_A_JOB; i++)
            add_row(b, row,
                    (struct cell){job, (int)rng_below(b->rng, (size_t)t->gpus),
                                  (int)rng_below(b->rng, (size_t)t->jobs)});
        stats_row_destroy(row);
    }
    stats_destroy(stats);
    arrival_stream_destroy(s);
}

static void show_pairs(struct pairs_builder *b, const struct fold *fold, int job,
                       struct fold_cells *all)
{
    static const size_t counts[] = {0, 1, 1, 2, 3, 5, SHOWN_MOST};
    size_t shown = counts[rng_below(b->rng, 7)], seen[2 * SHOWN_MOST];
    size_t *known = mem_array(size_t, fold_half(fold) + 1);
    size_t count = fold_known(fold, job, known);
    bool both = rng_uniform(b->rng) < 0.5;

    fold_draw(b->rng, known, count, shown);
    count = fold_show(fold, known, shown < count ? shown : count, both, seen);
    for (size_t i = 0; i < count; i++) {
        all->cells[all->count] = fold_cell(fold, job, seen[i]);
        all->values[all->count++] = fold_value(fold, job, seen[i]);
    }
    free(known);
}

static void from_catalogue(struct pairs_builder *b)
{
    const struct measured *t = b->table;
    size_t count;
    struct fold *folds =
        fold_all(t, rng_uniform(b->rng) < 0.5 ? FOLD_JOB : FOLD_FAMILY, 0, &count);
    const struct fold *fold = &folds[rng_below(b->rng, count)];
    int job = fold->test[rng_below(b->rng, (size_t)fold->test_count)];
    struct stats *stats = empty_stats(t);
    struct fold_cells all = fold_catalogue(fold, 2 * SHOWN_MOST);

    if (fold->train_count > 0) {
        struct stats_seen seen;
        struct stats_row *row;

        if (!b->initial)
            show_pairs(b, fold, job, &all);
        seen = (struct stats_seen){all.cells, all.values, all.count};
        row = stats_row_create(stats, &seen, job, NULL);
        for (int i = 0; i < CELLS_A_FOLD; i++)
            add_row(b, row, fold_cell(fold, job, rng_below(b->rng, fold_half(fold))));
        stats_row_destroy(row);
        for (int i = 0; i < CELLS_A_FOLD / ROWS_A_JOB; i++) {
            int other = fold->train[rng_below(b->rng, (size_t)fold->train_count)];

            row = stats_row_create(stats, &seen, other, NULL);
            for (int g = 0; g < t->gpus; g++)
                add_row(b, row, (struct cell){other, g, job});
            stats_row_destroy(row);
        }
    }
    free(all.cells);
    free(all.values);
    stats_destroy(stats);
    fold_free(folds, count);
}

/* What is told of a family's work is a guess. */
static void blur_work(struct measured *t, struct rng *rng)
{
    double off[64];

    for (int i = 0; i < 64; i++)
        off[i] = TOLD_SD * rng_normal(rng);
    for (int j = 0; j < t->jobs; j++)
        t->job[j].omega += off[t->job[j].family & 63];
}

void train_data_init(struct train_data *data, int worlds, bool initial, uint64_t seed)
{
    struct pairs_builder b = {.initial = initial};
    struct rng rng;

    b.rng = &rng;
    rng_stream(&rng, seed, 40 + initial);
    for (int w = 0; w < worlds; w++) {
        struct generate_options how = {.gpu_count = 2 + (int)rng_below(&rng, 5),
                                       .draw = invented_gpus,
                                       .missing = 0.04};
        struct world *world = world_generate(&how, &rng);
        struct measured *table = measured_create(world);

        b.table = table;
        blur_work(table, &rng);
        if (table->jobs >= JOBS_MIN && table->jobs <= JOBS_MAX) {
            from_stream(&b);
            from_catalogue(&b);
            from_catalogue(&b);
        }
        measured_destroy(table);
        world_destroy(world);
    }
    data->rows = b.rows.items;
    data->count = b.rows.count;
}

void train_data_fini(struct train_data *data)
{
    free(data->rows);
    data->rows = NULL;
    data->count = 0;
}
