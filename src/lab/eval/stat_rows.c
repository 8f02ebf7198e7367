/* stat_rows.c - rows of statistics on a fold: baseline.c grows trees on them */
#include "lab/eval/stat_rows.h"

#include "base/mem.h"
#include "base/vec.h"

#include <stdlib.h>

struct stat_rows {
    const struct fold *fold;
    struct gp *kernel;      /* its jobs and GPUs */
    struct fold_cells seen; /* the catalogue, and what is shown of a job behind it */
    struct stat_row *rows;  /* (fold_half) */
};

static struct gp *jobs_of(const struct measured *t)
{
    struct kernel_params params;
    struct gp *gp;

    kernel_default(&params);
    gp = gp_create(&params, true);
    for (int j = 0; j < t->jobs; j++)
        gp_add_job(gp, &t->job[j]);
    for (int g = 0; g < t->gpus; g++)
        gp_add_gpu(gp, &t->gpu[g]);
    return gp;
}

struct stat_rows *stat_rows_create(const struct fold *fold)
{
    struct stat_rows *r = mem_new(struct stat_rows);

    r->fold = fold;
    r->kernel = jobs_of(fold->table);
    r->rows = mem_array(struct stat_row, fold_half(fold) + 1);
    r->seen = fold_catalogue(fold, 2 * fold_half(fold));
    return r;
}

void stat_rows_destroy(struct stat_rows *r)
{
    if (!r)
        return;
    gp_destroy(r->kernel);
    free(r->seen.cells);
    free(r->seen.values);
    free(r->rows);
    free(r);
}

const struct stat_row *stat_rows_fill(struct stat_rows *r, int job, const size_t *seen,
                                      size_t seen_count, bool effect)
{
    size_t half = fold_half(r->fold), n = (size_t)r->fold->train_count;
    struct stats_seen shown = {r->seen.cells, r->seen.values, r->seen.count + seen_count};
    struct stats_row *row;

    for (size_t i = 0; i < seen_count; i++) {
        r->seen.cells[r->seen.count + i] = fold_cell(r->fold, job, seen[i]);
        r->seen.values[r->seen.count + i] = fold_value(r->fold, job, seen[i]);
    }
    row = effect ? NULL : stats_row_create(r->kernel, &shown, job, NULL);
    for (size_t k = 0; k < n; k++) {
        if (effect)
            row = stats_row_create(r->kernel, &shown, r->fold->train[k], NULL);
        for (size_t at = k; at < half; at += n) {
            struct cell c = fold_cell(r->fold, job, at + (effect ? half : 0));

            r->rows[at].base =
                (float)stats_features(row, c.gpu, c.other, true, r->rows[at].x).base;
        }
        if (effect)
            stats_row_destroy(row);
    }
    if (!effect)
        stats_row_destroy(row);
    return r->rows;
}

typedef vec_of(struct stat_row) grown_rows;

static void add_rows(grown_rows *to, struct stat_rows *rows, const struct fold *inner,
                     int job, const size_t *known, size_t count, size_t shown,
                     bool effect)
{
    size_t first = effect ? fold_half(inner) : 0;
    size_t *seen = mem_array(size_t, 2 * shown + 1);
    size_t used = fold_show(inner, known, shown, effect, seen);
    const struct stat_row *found = stat_rows_fill(rows, job, seen, used, effect);

    for (size_t i = shown; i < count; i++) {
        struct stat_row row = found[known[i]];

        row.target = (float)fold_value(inner, job, known[i] + first);
        vec_push(to, row);
    }
    free(seen);
}

static void add_job(grown_rows *to, const struct fold *fold, int at, struct rng *rng)
{
    static const size_t counts[] = {0, 1, 3, 10};
    int job = fold->train[at];
    struct stat_rows *rows;
    struct fold inner;
    size_t *known, count;

    fold_inner(fold, at, &inner);
    rows = stat_rows_create(&inner);
    known = mem_array(size_t, fold_half(&inner) + 1);
    count = inner.train_count > 0 ? fold_known(&inner, job, known) : 0;
    for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
        if (count <= counts[c])
            continue;
        fold_draw(rng, known, count, counts[c]);
        add_rows(to, rows, &inner, job, known, count, counts[c], false);
        add_rows(to, rows, &inner, job, known, count, counts[c], true);
    }
    stat_rows_destroy(rows);
    free(known);
    fold_fini(&inner);
}

struct gbt *stat_rows_grow(const struct fold *fold)
{
    grown_rows rows = {0};
    struct gbt *trees;
    struct rng rng;

    rng_stream(&rng, fold->seed, 500);
    for (int at = 0; at < fold->train_count; at++)
        add_job(&rows, fold, at, &rng);
    trees = gbt_from_rows(rows.items, rows.count);
    vec_free(&rows);
    return trees;
}
