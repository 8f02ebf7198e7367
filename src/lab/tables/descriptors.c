/* descriptors.c - what is told of families: eval.c adds it to a world that a table
 * gave */
#include "lab/tables/descriptors.h"

#include "base/parse.h"
#include "base/str.h"
#include "base/vec.h"
#include "lab/tables/csv.h"

#include <string.h>

#define BATCH_MARK " (batch size "

/* Batches beyond this are a slipped digit. */
#define MAX_BATCH 100000000

int descriptors_from_name(struct job_descriptor *descriptor, const char *name,
                          struct err *err)
{
    const char *mark = strstr(name, BATCH_MARK);
    size_t length = mark ? (size_t)(mark - name) : strlen(name);
    char digits[16] = "";
    int batch = 0;

    if (mark) {
        const char *number = mark + strlen(BATCH_MARK);
        size_t count = strcspn(number, ")");

        if (count < sizeof(digits))
            memcpy(digits, number, count);
        if (strcmp(number + count, ")") != 0 || !parse_int(digits, &batch) || batch < 1 ||
            batch > MAX_BATCH)
            return err_set(err, ERR_FORMAT,
                           "job \"%s\": want a name like \"Model (batch size 32)\"",
                           name);
    }
    if (length == 0 || length >= sizeof(descriptor->family))
        return err_set(err, ERR_LIMIT,
                       "job \"%s\": the family must have 1 to %zu characters", name,
                       sizeof(descriptor->family) - 1);
    memset(descriptor->family, 0, sizeof(descriptor->family));
    memcpy(descriptor->family, name, length);
    descriptor->batch = batch;
    return 0;
}

struct descriptor_columns {
    int family, kind, gmac, params, memory;
};

static int find_columns(struct descriptor_columns *at, const struct csv *csv,
                        struct err *err)
{
    if (csv_need(csv, "family", &at->family, err) < 0)
        return -1;
    at->kind = csv_column(csv, "kind");
    at->gmac = csv_column(csv, "forward_gmac_per_sample");
    at->params = csv_column(csv, "params_millions");
    at->memory = csv_column(csv, "memory_mb_per_sample");
    return 0;
}

/* An empty field is one nobody knows. */
static int read_figure(const struct csv *csv, int column, double max, double *value,
                       struct err *err)
{
    *value = 0;
    if (!*csv_field(csv, column))
        return 0;
    return csv_double(csv, column, 0, max, value, err);
}

static int read_family(const struct csv *csv, const struct descriptor_columns *at,
                       struct job_descriptor *row, struct err *err)
{
    const char *kind = csv_field(csv, at->kind);

    *row = (struct job_descriptor){.model = model_kind_find(kind)};
    if (!*csv_field(csv, at->family) ||
        !str_copy(row->family, sizeof(row->family), csv_field(csv, at->family)))
        return csv_refuse(csv, err, ERR_LIMIT, "the family must have 1 to %zu characters",
                          sizeof(row->family) - 1);
    if (row->model == MODEL_UNKNOWN && *kind && strcmp(kind, "unknown") != 0)
        return csv_refuse(csv, err, ERR_INVALID,
                          "kind \"%.40s\" is unknown: leave it empty or see "
                          "docs/formats.md",
                          kind);
    if (read_figure(csv, at->gmac, 1e9, &row->gmac_per_sample, err) < 0 ||
        read_figure(csv, at->params, 1e8, &row->params_millions, err) < 0 ||
        read_figure(csv, at->memory, 1e8, &row->memory_mb_per_sample, err) < 0)
        return -1;
    return 0;
}

static void apply(struct world *w, const struct job_descriptor *row)
{
    for (int c = 0; c < w->class_count; c++) {
        struct job_descriptor *d = &w->classes[c].descriptor;

        if (strcmp(d->family, row->family) != 0)
            continue;
        d->model = row->model;
        d->gmac_per_sample = row->gmac_per_sample;
        d->params_millions = row->params_millions;
        d->memory_mb_per_sample = row->memory_mb_per_sample;
    }
}

/* Takes csv. */
static int read_all(struct world *world, struct csv *csv, struct err *err)
{
    vec_of(struct job_descriptor) rows = {0};
    struct descriptor_columns at;
    int more = -1;

    if (find_columns(&at, csv, err) < 0)
        goto done;
    while ((more = csv_next(csv, err)) > 0) {
        struct job_descriptor row;

        if (read_family(csv, &at, &row, err) < 0) {
            more = -1;
            goto done;
        }
        vec_push(&rows, row);
    }
    if (more == 0)
        vec_each (struct job_descriptor, row, &rows)
            apply(world, row);
done:
    vec_free(&rows);
    csv_destroy(csv);
    return more;
}

int descriptors_load(struct world *world, const char *path, struct err *err)
{
    struct csv *csv;

    if (csv_load(&csv, path, err) < 0)
        return -1;
    return read_all(world, csv, err);
}
