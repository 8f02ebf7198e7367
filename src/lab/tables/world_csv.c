/* world_csv.c - see world_csv.h
 *
 * Rows may come in any order, so they are kept until all are read; then the size of the
 * world is known and the rates alone are there for the pairs to be divided by. */
#include "lab/tables/world_csv.h"

#include "base/intern.h"
#include "base/map.h"
#include "base/str.h"
#include "base/vec.h"
#include "lab/tables/csv.h"
#include "lab/tables/descriptors.h"
#include "lab/tables/gpu_csv.h"
#include "world/power.h"
#include "lab/tables/utilisation.h"
#include "lab/tables/world_check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_RATE  1e6
#define MAX_SCALE 1024
#define MAX_BATCH 100000000
#define MAX_WATTS 10000

struct rate_columns {
    int gpu, job, rate, family, batch, scale, corunner, corunner_rate, watts, spread_rate;
};

struct rate_row {
    size_t line;
    int gpu, cls;
    int corunner;                                  /* -1: alone */
    float rate, corunner_rate, watts, spread_rate; /* NaN: not told */
};

/* How much is known of a class. */
enum told {
    TOLD_NOTHING, /* only a co-runner so far */
    TOLD_NAME,    /* family and batch are those in its name */
    TOLD_ALL,     /* a row gave them */
};

struct world_reader {
    struct csv *csv;
    const char *name;
    const struct gpu_sheet *sheets;
    size_t sheet_count;
    struct rate_columns at;
    vec_of(struct gpu_sheet) gpus;
    struct intern *keys; /* "scale name" of classes */
    vec_of(struct world_class) classes;
    vec_of(enum told) told; /* (classes) */
    vec_of(struct rate_row) rows;
    struct map *seen; /* cell -> line */
    struct err *err;
};

static int find_columns(struct world_reader *r)
{
    struct rate_columns *at = &r->at;

    if (csv_need(r->csv, "gpu", &at->gpu, r->err) < 0 ||
        csv_need(r->csv, "job", &at->job, r->err) < 0 ||
        csv_need(r->csv, "rate", &at->rate, r->err) < 0)
        return -1;
    at->family = csv_column(r->csv, "family");
    at->batch = csv_column(r->csv, "batch");
    at->scale = csv_column(r->csv, "scale");
    at->corunner = csv_column(r->csv, "corunner");
    at->corunner_rate = csv_column(r->csv, "corunner_rate");
    at->watts = csv_column(r->csv, "watts");
    at->spread_rate = csv_column(r->csv, "spread_rate");
    return 0;
}

/* ---- names to numbers ---------------------------------------------------------------
 */

static int find_gpu(struct world_reader *r, int *gpu)
{
    const char *name = csv_field(r->csv, r->at.gpu);
    const struct gpu_sheet *card = NULL;

    for (size_t i = 0; i < r->sheet_count && !card; i++)
        if (gpu_named(&r->sheets[i], name))
            card = &r->sheets[i];
    if (!card)
        card = gpu_find(name);
    if (!card)
        return csv_refuse(r->csv, r->err, ERR_NOT_FOUND,
                          "GPU \"%.40s\" is not in the catalogue: describe it in a "
                          "data-sheet file",
                          name);
    for (size_t g = 0; g < r->gpus.count; g++) {
        if (!strcmp(r->gpus.items[g].name, card->name)) {
            *gpu = (int)g;
            return 0;
        }
    }
    if (r->gpus.count == WORLD_MAX_GPUS)
        return csv_refuse(r->csv, r->err, ERR_LIMIT, "more than %d GPU types",
                          WORLD_MAX_GPUS);
    *gpu = (int)r->gpus.count;
    vec_push(&r->gpus, *card);
    return 0;
}

static int find_class(struct world_reader *r, const char *name, int scale, int *cls)
{
    char key[WORLD_NAME_SIZE + 16];
    struct world_class c = {.scale = scale};

    if (!*name || !str_copy(c.name, sizeof(c.name), name))
        return csv_refuse(r->csv, r->err, ERR_LIMIT,
                          "the name of a job must have 1 to %d characters",
                          WORLD_NAME_SIZE - 1);
    snprintf(key, sizeof(key), "%d %s", scale, name);
    *cls = intern_id(r->keys, key);
    if ((size_t)*cls < r->classes.count)
        return 0;
    if (r->classes.count == WORLD_MAX_CLASSES)
        return csv_refuse(r->csv, r->err, ERR_LIMIT, "more than %d jobs",
                          WORLD_MAX_CLASSES);
    vec_push(&r->classes, c);
    vec_push(&r->told, TOLD_NOTHING);
    return 0;
}

/* Family and batch from their columns, else from the name. */
static int describe(struct world_reader *r, struct job_descriptor *d, const char *name)
{
    const char *family = csv_field(r->csv, r->at.family);
    struct err why = {0};

    if (!*family) {
        if (descriptors_from_name(d, name, &why) < 0)
            return csv_refuse(r->csv, r->err, why.code, "%s", why.text);
    } else if (!str_copy(d->family, sizeof(d->family), family)) {
        return csv_refuse(r->csv, r->err, ERR_LIMIT,
                          "the family is longer than %zu characters",
                          sizeof(d->family) - 1);
    }
    if (*csv_field(r->csv, r->at.batch))
        return csv_int(r->csv, r->at.batch, 0, MAX_BATCH, &d->batch, r->err);
    return 0;
}

/* Rows of one class need not repeat family and batch, but must not contradict. */
static int note_class(struct world_reader *r, int cls)
{
    bool given = *csv_field(r->csv, r->at.family) || *csv_field(r->csv, r->at.batch);
    enum told *told = &r->told.items[cls];
    struct world_class *c = &r->classes.items[cls];
    struct job_descriptor d = {0};

    if (!given && *told != TOLD_NOTHING)
        return 0;
    if (describe(r, &d, c->name) < 0)
        return -1;
    if (*told == TOLD_ALL &&
        (strcmp(d.family, c->descriptor.family) != 0 || d.batch != c->descriptor.batch))
        return csv_refuse(r->csv, r->err, ERR_INVALID,
                          "family or batch of \"%s\" differs from an earlier row",
                          c->name);
    c->descriptor = d;
    *told = given ? TOLD_ALL : TOLD_NAME;
    return 0;
}

/* ---- rows ---------------------------------------------------------------------------
 */

static int read_optional(struct world_reader *r, int column, double min, double max,
                         float *value)
{
    double found;

    *value = NAN;
    if (!*csv_field(r->csv, column))
        return 0;
    if (csv_double(r->csv, column, min, max, &found, r->err) < 0)
        return -1;
    *value = (float)found;
    return 0;
}

static int refuse_repeat(struct world_reader *r, const struct rate_row *row)
{
    uint64_t key = ((uint64_t)row->gpu * WORLD_MAX_CLASSES + (uint64_t)row->cls) *
                       (WORLD_MAX_CLASSES + 1) +
                   (uint64_t)(row->corunner + 1);
    size_t line;

    if (map_get(r->seen, key, &line))
        return csv_refuse(r->csv, r->err, ERR_EXISTS,
                          "line %zu tells the same: remove one of them", line);
    map_put(r->seen, key, row->line);
    return 0;
}

static int read_row(struct world_reader *r, struct rate_row *row)
{
    const char *corunner = csv_field(r->csv, r->at.corunner);
    double rate;
    int scale = 1;

    *row = (struct rate_row){.line = csv_line(r->csv), .corunner = -1};
    if (*csv_field(r->csv, r->at.scale) &&
        csv_int(r->csv, r->at.scale, 1, MAX_SCALE, &scale, r->err) < 0)
        return -1;
    if (find_gpu(r, &row->gpu) < 0 ||
        find_class(r, csv_field(r->csv, r->at.job), scale, &row->cls) < 0 ||
        (*corunner && find_class(r, corunner, scale, &row->corunner) < 0) ||
        note_class(r, row->cls) < 0 || refuse_repeat(r, row) < 0 ||
        csv_double(r->csv, r->at.rate, 0, MAX_RATE, &rate, r->err) < 0 ||
        read_optional(r, r->at.corunner_rate, 0, MAX_RATE, &row->corunner_rate) < 0 ||
        read_optional(r, r->at.spread_rate, 0, MAX_RATE, &row->spread_rate) < 0 ||
        read_optional(r, r->at.watts, 1, MAX_WATTS, &row->watts) < 0)
        return -1;
    row->rate = (float)rate;
    if (row->corunner < 0 && !isnan(row->corunner_rate))
        return csv_refuse(r->csv, r->err, ERR_INVALID, "corunner_rate without corunner");
    if (row->corunner >= 0 && !isnan(row->corunner_rate) &&
        (rate == 0) != (row->corunner_rate == 0))
        return csv_refuse(r->csv, r->err, ERR_INVALID,
                          "one of the two rates is 0: a pair that failed has both 0");
    return 0;
}

static int read_rows(struct world_reader *r)
{
    int more;

    if (find_columns(r) < 0)
        return -1;
    while ((more = csv_next(r->csv, r->err)) > 0) {
        struct rate_row row;

        if (read_row(r, &row) < 0)
            return -1;
        vec_push(&r->rows, row);
    }
    return more;
}

/* ---- the world ----------------------------------------------------------------------
 */

static void fill_alone(struct world *w, const struct rate_row *row)
{
    bool spread = w->classes[row->cls].scale > 1 && !isnan(row->spread_rate);

    *world_alone(w, row->gpu, row->cls) = row->rate;
    *world_spread(w, row->gpu, row->cls) = spread ? row->spread_rate : row->rate;
    *world_watts(w, row->gpu, row->cls) = row->rate > 0 ? row->watts : NAN;
}

/* Put one side of a pair; false when the mirrored row said otherwise. */
static bool put_side(const struct world *w, int g, int cls, int other, float rate)
{
    float alone = *world_alone(w, g, cls), *cell = world_beside(w, g, cls, other);
    float speed = isnan(rate) ? NAN : rate == 0 ? 0 : fminf(1, rate / alone);

    if (isnan(speed))
        return true;
    if (!isnan(*cell) && fabsf(*cell - speed) > 1e-4f)
        return false;
    *cell = speed;
    return true;
}

static int fill_pair(struct world_reader *r, struct world *w, const struct rate_row *row)
{
    int g = row->gpu, a = row->cls, b = row->corunner;
    bool failed = row->rate == 0;

    if (!failed && (*world_alone(w, g, a) == 0 || *world_alone(w, g, b) == 0))
        return err_set(r->err, ERR_INVALID,
                       "%s line %zu: \"%s\" and \"%s\" need rows of their rates alone on "
                       "%s",
                       r->name, row->line, w->classes[a].name, w->classes[b].name,
                       w->gpus[g].name);
    if (!put_side(w, g, a, b, row->rate) ||
        !put_side(w, g, b, a, failed ? 0 : row->corunner_rate))
        return err_set(r->err, ERR_INVALID,
                       "%s line %zu: differs from the row with job and corunner swapped",
                       r->name, row->line);
    return 0;
}

static int fill(struct world_reader *r, struct world *w)
{
    size_t pairs = (size_t)w->gpu_count * (size_t)w->class_count * (size_t)w->class_count;

    for (int g = 0; g < w->gpu_count; g++)
        w->gpus[g] = r->gpus.items[g];
    for (int c = 0; c < w->class_count; c++) {
        w->classes[c] = r->classes.items[c];
        if (r->told.items[c] == TOLD_NOTHING)
            return err_set(
                r->err, ERR_NOT_FOUND,
                "%s: corunner \"%s\" has no rows of its own: add its rate alone", r->name,
                w->classes[c].name);
    }
    for (size_t i = 0; i < pairs; i++)
        w->beside[i] = NAN;
    vec_each (struct rate_row, row, &r->rows)
        if (row->corunner < 0)
            fill_alone(w, row);
    vec_each (struct rate_row, row, &r->rows)
        if (row->corunner >= 0 && fill_pair(r, w, row) < 0)
            return -1;
    return 0;
}

/* Measured power says more of the utilisation than a draw does. */
static void fill_busy(struct world *w, uint64_t seed)
{
    utilisation_draw(w, seed);
    for (int g = 0; g < w->gpu_count; g++) {
        for (int c = 0; c < w->class_count; c++) {
            float watts = *world_watts(w, g, c);

            if (!isnan(watts))
                *world_busy(w, g, c) = (float)power_busy(&w->gpus[g], watts);
        }
    }
}

static int build(struct world_reader *r, struct world **world, uint64_t seed)
{
    struct world *w;

    if (read_rows(r) < 0)
        return -1;
    if (world_check_size(r->gpus.count, r->classes.count, r->err) < 0)
        return err_prefix(r->err, "%s", r->name);
    w = world_create((int)r->gpus.count, (int)r->classes.count);
    if (fill(r, w) < 0) {
        world_destroy(w);
        return -1;
    }
    fill_busy(w, seed);
    if (world_check(w, r->err) < 0) {
        world_destroy(w);
        return err_prefix(r->err, "%s", r->name);
    }
    *world = w;
    return 0;
}

/* Fills in the rest of *r and frees all it holds. */
static int read_table(struct world_reader *r, struct world **world, uint64_t seed)
{
    int rc;

    r->keys = intern_create();
    r->seen = map_create();
    rc = build(r, world, seed);
    map_destroy(r->seen);
    intern_destroy(r->keys);
    vec_free(&r->rows);
    vec_free(&r->told);
    vec_free(&r->classes);
    vec_free(&r->gpus);
    csv_destroy(r->csv);
    return rc;
}

int world_csv_load(struct world **world, const char *path, const char *sheets_path,
                   uint64_t seed, struct err *err)
{
    struct world_reader r = {.name = path, .err = err};
    struct gpu_sheet *sheets = NULL;
    int rc = -1;

    if (sheets_path && gpu_csv_load(&sheets, &r.sheet_count, sheets_path, err) < 0)
        return -1;
    r.sheets = sheets;
    if (csv_load(&r.csv, path, err) == 0)
        rc = read_table(&r, world, seed);
    free(sheets);
    return rc;
}
