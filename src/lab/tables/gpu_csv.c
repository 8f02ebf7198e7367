/* gpu_csv.c - cards the catalogue lacks: world_csv.c asks for them by name */
#include "lab/tables/gpu_csv.h"

#include "base/str.h"
#include "base/vec.h"
#include "lab/tables/csv.h"
#include "lab/tables/world_check.h"

#include <string.h>

struct sheet_columns {
    int name, title, fp32, fp16, bandwidth, memory, sms, tdp, idle, cap_min, year, source;
};

static int find_columns(struct sheet_columns *at, const struct csv *csv, struct err *err)
{
    at->title = csv_column(csv, "title");
    at->fp16 = csv_column(csv, "fp16_tflops");
    at->idle = csv_column(csv, "idle_watts");
    at->cap_min = csv_column(csv, "cap_min_watts");
    at->source = csv_column(csv, "source");
    if (csv_need(csv, "name", &at->name, err) < 0 ||
        csv_need(csv, "fp32_tflops", &at->fp32, err) < 0 ||
        csv_need(csv, "bandwidth_gbs", &at->bandwidth, err) < 0 ||
        csv_need(csv, "memory_gb", &at->memory, err) < 0 ||
        csv_need(csv, "sms", &at->sms, err) < 0 ||
        csv_need(csv, "tdp_watts", &at->tdp, err) < 0 ||
        csv_need(csv, "year", &at->year, err) < 0)
        return -1;
    return 0;
}

/* gpu_check knows the sensible ranges; here it only has to be a number. */
static int read_figure(const struct csv *csv, int column, double unknown, double *value,
                       struct err *err)
{
    if (!*csv_field(csv, column)) {
        *value = unknown;
        return 0;
    }
    return csv_double(csv, column, 0, 1e9, value, err);
}

static int read_names(const struct csv *csv, const struct sheet_columns *at,
                      struct gpu_sheet *s, struct err *err)
{
    const char *title = csv_field(csv, at->title), *source = csv_field(csv, at->source);

    if (!str_copy(s->name, sizeof(s->name), csv_field(csv, at->name)))
        return csv_refuse(csv, err, ERR_LIMIT, "the name is longer than %zu characters",
                          sizeof(s->name) - 1);
    /* Only shown, so what does not fit is cut. */
    str_copy(s->title, sizeof(s->title), *title ? title : s->name);
    str_copy(s->source, sizeof(s->source), *source ? source : "data-sheet file");
    return 0;
}

static int read_card(const struct csv *csv, const struct sheet_columns *at,
                     struct gpu_sheet *s, struct err *err)
{
    struct err why = {0};

    *s = (struct gpu_sheet){0};
    if (read_names(csv, at, s, err) < 0 ||
        csv_double(csv, at->fp32, 0, 1e9, &s->fp32_tflops, err) < 0 ||
        csv_double(csv, at->bandwidth, 0, 1e9, &s->bandwidth_gbs, err) < 0 ||
        csv_double(csv, at->memory, 0, 1e9, &s->memory_gb, err) < 0 ||
        csv_double(csv, at->tdp, 0, 1e9, &s->tdp_watts, err) < 0 ||
        csv_int(csv, at->sms, 1, 10000, &s->sms, err) < 0 ||
        csv_int(csv, at->year, 2000, 2100, &s->year, err) < 0 ||
        read_figure(csv, at->fp16, s->fp32_tflops, &s->fp16_tflops, err) < 0 ||
        read_figure(csv, at->idle, 0.1 * s->tdp_watts, &s->idle_watts, err) < 0 ||
        read_figure(csv, at->cap_min, 0, &s->cap_min_watts, err) < 0)
        return -1;
    if (gpu_check(s, &why) < 0)
        return csv_refuse(csv, err, why.code, "%s", why.text);
    return 0;
}

/* Takes csv. */
static int read_all(struct gpu_sheet **sheets, size_t *count, struct csv *csv,
                    struct err *err)
{
    vec_of(struct gpu_sheet) all = {0};
    struct sheet_columns at;
    struct gpu_sheet card;
    int more = -1;

    if (find_columns(&at, csv, err) < 0)
        goto done;
    while ((more = csv_next(csv, err)) > 0) {
        more = -1;
        if (read_card(csv, &at, &card, err) < 0)
            goto done;
        vec_each (struct gpu_sheet, other, &all)
            if (!strcmp(other->name, card.name)) {
                csv_refuse(csv, err, ERR_EXISTS, "%s is there twice", card.name);
                goto done;
            }
        if (all.count == GPU_CSV_MAX) {
            csv_refuse(csv, err, ERR_LIMIT, "more than %d cards", GPU_CSV_MAX);
            goto done;
        }
        vec_push(&all, card);
    }
    if (more == 0) {
        *sheets = all.items;
        *count = all.count;
        all.items = NULL;
    }
done:
    vec_free(&all);
    csv_destroy(csv);
    return more;
}

int gpu_csv_load(struct gpu_sheet **sheets, size_t *count, const char *path,
                 struct err *err)
{
    struct csv *csv;

    if (csv_load(&csv, path, err) < 0)
        return -1;
    return read_all(sheets, count, csv, err);
}
