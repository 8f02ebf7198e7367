/* fold.c - a table cut into what is known and what is asked: the protocols go from
 * fold to fold */
#include "lab/eval/fold.h"

#include "base/mem.h"
#include "model/dense.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool goes_with(const struct measured *t, enum fold_split split, int a, int b)
{
    if (a == b)
        return true;
    return split == FOLD_FAMILY && t->job[a].family >= 0 &&
           t->job[a].family == t->job[b].family;
}

/* Split `jobs` into what goes with `out` and the rest. */
static void split_jobs(struct fold *fold, const int *jobs, int count, int out)
{
    fold->train = mem_array(int, (size_t)count + 1);
    fold->test = mem_array(int, (size_t)count + 1);
    for (int i = 0; i < count; i++) {
        if (goes_with(fold->table, fold->split, out, jobs[i]))
            fold->test[fold->test_count++] = jobs[i];
        else
            fold->train[fold->train_count++] = jobs[i];
    }
}

struct fold *fold_all(const struct measured *table, enum fold_split split, uint64_t seed,
                      size_t *count)
{
    size_t n = (size_t)table->jobs;
    struct fold *folds = mem_array(struct fold, n + 1);
    bool *done = mem_array(bool, n + 1);
    int *all = mem_array(int, n + 1);

    *count = 0;
    for (int j = 0; j < table->jobs; j++)
        all[j] = j;
    for (int j = 0; j < table->jobs; j++) {
        struct fold *fold = &folds[*count];

        if (done[j])
            continue;
        *fold = (struct fold){.table = table,
                              .split = split,
                              .seed = seed,
                              .fit = mem_new(struct fold_fit *)};
        split_jobs(fold, all, table->jobs, j);
        for (int i = 0; i < fold->test_count; i++)
            done[fold->test[i]] = true;
        ++*count;
    }
    free(done);
    free(all);
    return folds;
}

void fold_fini(struct fold *fold)
{
    free(fold->train);
    free(fold->test);
    if (fold->fit)
        fold_fit_destroy(*fold->fit);
    free(fold->fit);
    fold->fit = NULL;
    fold->train = fold->test = NULL;
}

void fold_free(struct fold *folds, size_t count)
{
    for (size_t i = 0; folds && i < count; i++)
        fold_fini(&folds[i]);
    free(folds);
}

void fold_inner(const struct fold *fold, int at, struct fold *inner)
{
    *inner =
        (struct fold){.table = fold->table, .split = fold->split, .seed = fold->seed};
    split_jobs(inner, fold->train, fold->train_count, fold->train[at]);
}

int fold_group(const struct fold *f, int job)
{
    int family = f->table->job[job].family;

    return f->split == FOLD_FAMILY && family >= 0 ? family : f->table->families + job;
}

struct fold_cells fold_catalogue(const struct fold *f, size_t more)
{
    int n = f->train_count;
    size_t room = (size_t)n * (size_t)n * (size_t)f->table->gpus + more + 1;
    struct fold_cells all = {mem_array(struct cell, room), mem_array(double, room), 0};

    for (int a = 0; a < n; a++)
        for (int b = 0; b < n; b++)
            for (int g = 0; g < f->table->gpus; g++) {
                struct cell cell = {f->train[a], g, f->train[b]};
                double value = measured_pair(f->table, cell.job, g, cell.other);

                if (isnan(value))
                    continue;
                all.cells[all.count] = cell;
                all.values[all.count++] = value;
            }
    return all;
}

size_t fold_show(const struct fold *f, const size_t *known, size_t shown, bool effect,
                 size_t *seen)
{
    size_t count = 0;

    for (size_t i = 0; i < shown; i++) {
        seen[count++] = known[i];
        if (effect)
            seen[count++] = known[i] + fold_half(f);
    }
    return count;
}

void fold_take_back(struct rates *rates, int job, int gpu)
{
    struct gp *core = rates->core;

    core->count--; /* rows before the last do not know of it */
    memcpy(core->weight, core->white, core->count * sizeof(double));
    dense_solve(core->factor, core->count, core->capacity, true, core->weight, 1);
    rates->seen[(size_t)job * WORLD_MAX_GPUS + (size_t)gpu] = NAN;
}

size_t fold_known(const struct fold *f, int job, size_t *out)
{
    size_t half = fold_half(f), known = 0;

    for (size_t i = 0; i < half; i++)
        if (!isnan(fold_value(f, job, i)) && !isnan(fold_value(f, job, half + i)))
            out[known++] = i;
    return known;
}

void fold_draw(struct rng *rng, size_t *items, size_t available, size_t count)
{
    for (size_t i = 0; i < count && i < available; i++) {
        size_t j = i + rng_below(rng, available - i);
        size_t item = items[j];

        items[j] = items[i];
        items[i] = item;
    }
}
