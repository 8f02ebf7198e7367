/* train_data.c - training rows for rates carried over, for cmd_train.c */
#include "lab/eval/train_data.h"

#include "base/mem.h"
#include "base/vec.h"
#include "lab/eval/fold.h"
#include "lab/tables/invented_gpus.h"
#include "model/rates.h"
#include "world/generate.h"

#include <math.h>
#include <stdlib.h>

/* What users tell of the work is off by this much, as log sd over three. */
#define TOLD_SD 0.13

static void tell(const struct train_listener *listener, int world, int worlds)
{
    if (listener)
        listener->progress(listener->ctx, (double)world / worlds);
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
