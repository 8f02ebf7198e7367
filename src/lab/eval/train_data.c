/* train_data.c - training rows from synthetic worlds, for cmd_train.c */
#include "lab/eval/train_data.h"

#include "base/mem.h"
#include "base/vec.h"
#include "lab/eval/arrival_stream.h"
#include "lab/eval/fold.h"
#include "lab/eval/seq.h"
#include "lab/tables/invented_gpus.h"
#include "model/rates.h"
#include "world/generate.h"

#include <math.h>
#include <stdlib.h>

/* ---- pairs ------------------------------------------------------------------------- */

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
    struct gp *core = seq_kernel(t);
    int cut = cuts[rng_below(b->rng, 7)];
    struct stats_seen seen = {s->cells, s->values, 0};

    while (seen.count < s->count && s->arrival[seen.count] < cut)
        seen.count++;
    for (int n = 0; n < JOBS_A_STREAM; n++) {
        int job = (int)rng_below(b->rng, (size_t)t->jobs);
        struct stats_row *row;

        if (b->initial && appears(&seen, job))
            continue;
        row = stats_row_create(core, &seen, job, NULL);
        for (int i = 0; i < ROWS_A_JOB; i++)
            add_row(b, row,
                    (struct cell){job, (int)rng_below(b->rng, (size_t)t->gpus),
                                  (int)rng_below(b->rng, (size_t)t->jobs)});
        stats_row_destroy(row);
    }
    gp_destroy(core);
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
    struct gp *core = seq_kernel(t);
    struct fold_cells all = fold_catalogue(fold, 2 * SHOWN_MOST);

    if (fold->train_count > 0) {
        struct stats_seen seen;
        struct stats_row *row;

        if (!b->initial)
            show_pairs(b, fold, job, &all);
        seen = (struct stats_seen){all.cells, all.values, all.count};
        row = stats_row_create(core, &seen, job, NULL);
        for (int i = 0; i < CELLS_A_FOLD; i++)
            add_row(b, row, fold_cell(fold, job, rng_below(b->rng, fold_half(fold))));
        stats_row_destroy(row);
        for (int i = 0; i < CELLS_A_FOLD / ROWS_A_JOB; i++) {
            int other = fold->train[rng_below(b->rng, (size_t)fold->train_count)];

            row = stats_row_create(core, &seen, other, NULL);
            for (int g = 0; g < t->gpus; g++)
                add_row(b, row, (struct cell){other, g, job});
            stats_row_destroy(row);
        }
    }
    free(all.cells);
    free(all.values);
    gp_destroy(core);
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

static void tell(const struct train_listener *listener, int world, int worlds)
{
    if (listener)
        listener->progress(listener->ctx, (double)world / worlds);
}

void train_data_init(struct train_data *data, int worlds, bool initial, uint64_t seed,
                     const struct train_listener *listener)
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

        tell(listener, w, worlds);
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

/* ---- rates alone ------------------------------------------------------------------- */

#define ALONE_JOBS_MIN 6
#define ALONE_JOBS_MAX 48
#define FOLDS_A_WORLD  3
#define JOBS_A_FOLD    4
#define DRAWS_A_JOB    2
#define SHOWN_MAX      3

/* Shares of catalogues that are full, of worlds whose jobs nobody described, and of
 * measurements that came with a draw. */
#define FULL          0.5
#define UNTOLD        0.15
#define METERED       0.85

#define NOISE_SD      0.03
#define BUSY_NOISE_SD 0.05

struct alone_builder {
    vec_of(struct statnet_row) rows;
    const struct world *world;
    const struct measured *table;
    struct job_trait *traits; /* (jobs) as users would tell them */
    struct rng *rng;
};

static void tell_jobs(struct alone_builder *b)
{
    bool untold = rng_uniform(b->rng) < UNTOLD;
    double off[64];

    for (int i = 0; i < 64; i++)
        off[i] = TOLD_SD * rng_normal(b->rng);
    for (int j = 0; j < b->table->jobs; j++) {
        b->traits[j] = b->table->told_trait[j];
        b->traits[j].omega += off[b->traits[j].family & 63];
        b->traits[j].untold = untold;
    }
}

static void show(struct alone_builder *b, struct rates *rates, int job, int gpu,
                 bool metered)
{
    double busy = (double)*world_busy(b->world, gpu, b->table->class_of[job]);

    rates_observe(rates, job, gpu,
                  measured_alone(b->table, job, gpu) + NOISE_SD * rng_normal(b->rng));
    rates_observe_busy(rates, job, gpu,
                       metered ? fmin(busy * exp(BUSY_NOISE_SD * rng_normal(b->rng)), 1)
                               : NAN);
}

static struct rates *load(struct alone_builder *b, const struct fold *fold)
{
    const struct measured *t = b->table;
    double there = rng_uniform(b->rng) < FULL ? 1 : rng_range(b->rng, 0.1, 0.8);
    struct kernel_params params;
    struct rates *rates;

    kernel_default(&params);
    rates = rates_create(&params);
    for (int g = 0; g < t->gpus; g++)
        rates_add_gpu(rates, &t->gpu[g]);
    for (int j = 0; j < t->jobs; j++)
        rates_add_job(rates, &b->traits[j]);
    for (int i = 0; i < fold->train_count; i++)
        for (int g = 0; g < t->gpus; g++)
            if (!isnan(measured_alone(t, fold->train[i], g)) &&
                rng_uniform(b->rng) < there)
                show(b, rates, fold->train[i], g, false);
    return rates;
}

/* Some types of a job are measured, the others become rows; then all is taken back. */
static void add_draw(struct alone_builder *b, struct rates *rates, int job)
{
    const struct measured *t = b->table;
    size_t types[WORLD_MAX_GPUS], count = 0, shown;

    for (int g = 0; g < t->gpus; g++)
        if (!isnan(measured_alone(t, job, g)))
            types[count++] = (size_t)g;
    if (count < 2)
        return;
    shown = 1 + rng_below(b->rng, count - 1 < SHOWN_MAX ? count - 1 : SHOWN_MAX);
    fold_draw(b->rng, types, count, shown);
    for (size_t i = 0; i < shown; i++)
        show(b, rates, job, (int)types[i], rng_uniform(b->rng) < METERED);
    for (size_t i = shown; i < count; i++) {
        struct statnet_row row = {.base = 0};

        if (!rates_transfer_row(rates, job, (int)types[i], &row))
            continue;
        row.target = (float)measured_alone(t, job, (int)types[i]);
        vec_push(&b->rows, row);
    }
    for (size_t i = shown; i-- > 0;)
        fold_take_back(rates, job, (int)types[i]);
}

static void from_world(struct alone_builder *b)
{
    for (int f = 0; f < FOLDS_A_WORLD; f++) {
        size_t count;
        struct fold *folds =
            fold_all(b->table, f % 2 ? FOLD_JOB : FOLD_FAMILY, 0, &count);
        const struct fold *fold = &folds[rng_below(b->rng, count)];
        struct rates *rates = load(b, fold);

        for (int i = 0; i < fold->test_count && i < JOBS_A_FOLD; i++)
            for (int d = 0; d < DRAWS_A_JOB; d++)
                add_draw(b, rates, fold->test[i]);
        rates_destroy(rates);
        fold_free(folds, count);
    }
}

void train_alone_init(struct train_data *data, int worlds, uint64_t seed,
                      const struct train_listener *listener)
{
    struct alone_builder b = {0};
    struct rng rng;

    b.rng = &rng;
    rng_stream(&rng, seed, 45);
    for (int w = 0; w < worlds; w++) {
        struct generate_options how = {.gpu_count = 2 + (int)rng_below(&rng, 5),
                                       .draw = invented_gpus};
        struct world *world = world_generate(&how, &rng);
        struct measured *table = measured_create(world);

        tell(listener, w, worlds);
        b.world = world;
        b.table = table;
        b.traits = mem_array(struct job_trait, (size_t)table->jobs + 1);
        tell_jobs(&b);
        if (table->jobs >= ALONE_JOBS_MIN && table->jobs <= ALONE_JOBS_MAX)
            from_world(&b);
        free(b.traits);
        measured_destroy(table);
        world_destroy(world);
    }
    *data = (struct train_data){.rows = b.rows.items, .count = b.rows.count};
}
