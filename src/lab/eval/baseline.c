/* baseline.c - what an expert would try first, for jobs beside one another
 *
 * All see the same catalogue and observations as the product; none gives intervals. */
#include "lab/eval/estimator_method.h"

#include "base/mem.h"
#include "lab/eval/eval_score.h"
#include "lab/eval/lowrank.h"
#include "lab/eval/stat_rows.h"

#include <math.h>
#include <stdlib.h>

#define LOWRANK_COUNTS 4 /* tuned for 1, 2, 3 and more observations */

struct baseline {
    const struct fold *fold;
    size_t cells;
    double constant;
    double *rows;   /* (train_count, cells) the catalogue as if each job were new */
    double *gpu;    /* (cells) mean of its GPU */
    double *column; /* (cells) mean of its column, shrunk towards the GPU's */
    double *median; /* (cells) */
    struct lowrank *lowrank[LOWRANK_COUNTS];
};

static void fill_means(struct baseline *b)
{
    size_t n = (size_t)b->fold->train_count;
    double *column = mem_array(double, n + 1);
    double all = 0, known = 0;

    for (size_t at = 0; at < b->cells; at += n) { /* one kind and GPU */
        double sum = 0, count = 0;

        for (size_t i = 0; i < n; i++)
            for (size_t k = at; k < at + n; k++)
                if (!isnan(b->rows[i * b->cells + k])) {
                    sum += b->rows[i * b->cells + k];
                    count++;
                }
        all += sum;
        known += count;
        for (size_t k = at; k < at + n; k++)
            b->gpu[k] = count > 0 ? sum / count : 0;
    }
    b->constant = known > 0 ? all / known : 0;
    for (size_t k = 0; k < b->cells; k++) {
        double sum = b->gpu[k];
        size_t count = 0;

        for (size_t i = 0; i < n; i++)
            if (!isnan(b->rows[i * b->cells + k])) {
                sum += b->rows[i * b->cells + k];
                column[count++] = b->rows[i * b->cells + k];
            }
        b->column[k] = sum / (double)(count + 1);
        b->median[k] = count > 0 ? score_error_quantile(column, count, 0.5) : b->gpu[k];
    }
    free(column);
}

static void *baseline_fit(const struct fold *fold, const char *name)
{
    struct baseline *b = mem_new(struct baseline);
    size_t n = (size_t)fold->train_count;

    (void)name;
    b->fold = fold;
    b->cells = 2 * fold_half(fold);
    b->rows = mem_array(double, n * b->cells + 1);
    b->gpu = mem_array(double, b->cells + 1);
    b->column = mem_array(double, b->cells + 1);
    b->median = mem_array(double, b->cells + 1);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < b->cells; k++)
            b->rows[i * b->cells + k] = fold_value(fold, fold->train[i], k);
    fill_means(b);
    return b;
}

static void baseline_end(void *self)
{
    struct baseline *b = self;

    for (int i = 0; i < LOWRANK_COUNTS; i++)
        lowrank_destroy(b->lowrank[i]);
    free(b->rows);
    free(b->gpu);
    free(b->column);
    free(b->median);
    free(b);
}

static void put(struct guess *out, size_t count, const double *values, double shift)
{
    for (size_t k = 0; k < count; k++)
        out[k] = (struct guess){fmin(values[k] + shift, 0), NAN, NAN};
}

static void predict_constant(void *self, int job, const size_t *seen, size_t seen_count,
                             bool effect, struct guess *out)
{
    struct baseline *b = self;

    (void)job, (void)seen, (void)seen_count, (void)effect;
    for (size_t k = 0; k < b->cells; k++)
        out[k] = (struct guess){b->constant, NAN, NAN};
}

static void predict_gpu(void *self, int job, const size_t *seen, size_t seen_count,
                        bool effect, struct guess *out)
{
    struct baseline *b = self;

    (void)job, (void)seen, (void)seen_count, (void)effect;
    put(out, b->cells, b->gpu, 0);
}

/* Only cells not measured are scored, so remembering the measured ones adds nothing. */
static void predict_column(void *self, int job, const size_t *seen, size_t seen_count,
                           bool effect, struct guess *out)
{
    struct baseline *b = self;

    (void)job, (void)seen, (void)seen_count, (void)effect;
    put(out, b->cells, b->column, 0);
}

/* The catalogue's column median times the job's own median ratio to it. */
static void predict_median(void *self, int job, const size_t *seen, size_t seen_count,
                           bool effect, struct guess *out)
{
    struct baseline *b = self;
    size_t half = b->cells / 2;
    double *ratio = mem_array(double, seen_count + 1);
    double shift[2];

    (void)effect;
    for (int kind = 0; kind < 2; kind++) {
        size_t count = 0;

        for (size_t i = 0; i < seen_count; i++)
            if ((seen[i] >= half) == kind)
                ratio[count++] = fold_value(b->fold, job, seen[i]) - b->median[seen[i]];
        shift[kind] = count > 0 ? score_error_quantile(ratio, count, 0.5) : 0;
    }
    put(out, half, b->median, shift[0]);
    put(out + half, half, b->median + half, shift[1]);
    free(ratio);
}

/* How far a catalogue job is: by what was seen, then family and batch, then work. */
static double distance(const struct baseline *b, size_t row, int job, const size_t *seen,
                       size_t seen_count)
{
    const struct job_trait *x = &b->fold->table->job[job];
    const struct job_trait *y = &b->fold->table->job[b->fold->train[row]];
    double d = 0.1 * (fabs(x->beta - y->beta) + fabs(x->omega - y->omega));

    if (x->family < 0 || x->family != y->family)
        d += 0.3;
    for (size_t i = 0; i < seen_count; i++) {
        double value = b->rows[row * b->cells + seen[i]];

        d += fabs(fold_value(b->fold, job, seen[i]) -
                  (isnan(value) ? b->column[seen[i]] : value));
    }
    return d;
}

static void predict_nearest(void *self, int job, const size_t *seen, size_t seen_count,
                            bool effect, struct guess *out)
{
    struct baseline *b = self;
    double best = INFINITY;
    size_t row = 0;

    (void)effect;
    for (size_t i = 0; i < (size_t)b->fold->train_count; i++) {
        double d = distance(b, i, job, seen, seen_count);

        if (d < best) {
            best = d;
            row = i;
        }
    }
    put(out, b->cells, b->column, 0);
    for (size_t k = 0; k < b->cells; k++)
        if (!isnan(b->rows[row * b->cells + k]))
            out[k].mid = b->rows[row * b->cells + k];
}

static void predict_lowrank(void *self, int job, const size_t *seen, size_t seen_count,
                            bool effect, struct guess *out)
{
    struct baseline *b = self;
    size_t shown = effect ? seen_count / 2 : seen_count;
    size_t at = shown <= 1 ? 0 : shown <= 3 ? shown - 1 : LOWRANK_COUNTS - 1;
    double *values = mem_array(double, seen_count + 1);
    double *row = mem_array(double, b->cells + 1);

    if (!b->lowrank[at])
        b->lowrank[at] = lowrank_create(b->rows, (size_t)b->fold->train_count, b->cells,
                                        shown > 0 ? shown : 1);
    for (size_t i = 0; i < seen_count; i++)
        values[i] = fold_value(b->fold, job, seen[i]);
    lowrank_complete(b->lowrank[at], seen, values, seen_count, row);
    put(out, b->cells, row, 0);
    free(values);
    free(row);
}

/* ---- boosted trees on statistics around a cell ----------------------------------
 *
 * Trained inside the catalogue on the same game as is played outside (stat_rows.h). */

struct trees {
    const struct fold *fold;
    struct gbt *gbt;
    struct stat_rows *outer;
};

static void *trees_fit(const struct fold *fold, const char *name)
{
    struct trees *t = mem_new(struct trees);

    (void)name;
    t->fold = fold;
    t->outer = stat_rows_create(fold);
    t->gbt = stat_rows_grow(fold);
    return t;
}

static void trees_predict(void *self, int job, const size_t *seen, size_t seen_count,
                          bool effect, struct guess *out)
{
    struct trees *t = self;
    size_t half = fold_half(t->fold), first = effect ? half : 0;
    const struct stat_row *rows = stat_rows_fill(t->outer, job, seen, seen_count, effect);

    for (size_t i = 0; i < half; i++)
        out[first + i] = (struct guess){
            fmin((double)rows[i].base + gbt_predict(t->gbt, rows[i].x), 0), NAN, NAN};
}

static void trees_destroy(void *self)
{
    struct trees *t = self;

    gbt_destroy(t->gbt);
    stat_rows_destroy(t->outer);
    free(t);
}

const struct method method_baselines[] = {
    {"baseline:constant", baseline_fit, predict_constant, baseline_end},
    {"baseline:gpu-mean", baseline_fit, predict_gpu, baseline_end},
    {"baseline:column-mean", baseline_fit, predict_column, baseline_end},
    {"baseline:nearest-job", baseline_fit, predict_nearest, baseline_end},
    {"baseline:median-ratio", baseline_fit, predict_median, baseline_end},
    {"baseline:low-rank", baseline_fit, predict_lowrank, baseline_end},
    {"baseline:boosted-trees", trees_fit, trees_predict, trees_destroy},
    {NULL, NULL, NULL, NULL},
};
