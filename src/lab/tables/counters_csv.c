/* counters_csv.c - counters of jobs: eval.c gives them to a table of rates */
#include "lab/tables/counters_csv.h"

#include "base/mem.h"
#include "lab/tables/csv.h"
#include "world/power.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct counter_columns {
    int job, gpu, busy, memory_busy, watts, memory, host;
};

/* Sums over the rows of a job. */
struct counter_sums {
    double sum[JOB_COUNTERS];
    int rows[JOB_COUNTERS];
};

static void add(struct counter_sums *s, enum job_counter counter, double share)
{
    s->sum[counter] += fmin(fmax(share, 0), 1);
    s->rows[counter]++;
}

static struct job_counters mean_of(const struct counter_sums *s)
{
    struct job_counters mean = job_counters_none();

    for (int c = 0; c < JOB_COUNTERS; c++)
        if (s->rows[c] > 0)
            mean.of[c] = s->sum[c] / s->rows[c];
    return mean;
}

/* A job has one class for each number of devices: counters are those of all of them. */
static bool is_job(const struct world *w, int cls, const char *name)
{
    return !strcmp(w->classes[cls].name, name);
}

static int read_gpu(const struct csv *csv, int column, const struct world *world,
                    int *gpu, struct err *err)
{
    const char *name = csv_field(csv, column);

    *gpu = *name ? world_find_gpu(world, name) : -1;
    if (*name && *gpu < 0)
        return csv_refuse(csv, err, ERR_NOT_FOUND,
                          "no GPU of the table of rates is called \"%.40s\"", name);
    return 0;
}

/* An empty field is one nobody counted; *value is then NaN. */
static int read_field(const struct csv *csv, int column, double max, double *value,
                      struct err *err)
{
    *value = NAN;
    return *csv_field(csv, column) ? csv_double(csv, column, 0, max, value, err) : 0;
}

static int read_row(const struct csv *csv, const struct counter_columns *at,
                    const struct world *world, struct counter_sums *row, struct err *err)
{
    const struct {
        enum job_counter counter;
        int column;
    } shares[] = {{COUNTER_BUSY, at->busy},
                  {COUNTER_MEMORY_BUSY, at->memory_busy},
                  {COUNTER_HOST, at->host}};
    double value;
    int gpu;

    *row = (struct counter_sums){0};
    if (read_gpu(csv, at->gpu, world, &gpu, err) < 0)
        return -1;
    for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++) {
        if (read_field(csv, shares[i].column, 1, &value, err) < 0)
            return -1;
        if (!isnan(value))
            add(row, shares[i].counter, value);
    }
    if (read_field(csv, at->watts, 1e5, &value, err) < 0)
        return -1;
    if (!isnan(value) && gpu >= 0)
        add(row, COUNTER_WATTS, power_busy(&world->gpus[gpu], value));
    if (read_field(csv, at->memory, 1e5, &value, err) < 0)
        return -1;
    if (!isnan(value) && gpu >= 0)
        add(row, COUNTER_MEMORY, value / world->gpus[gpu].memory_gb);
    return 0;
}

static int find_columns(struct counter_columns *at, const struct csv *csv,
                        struct err *err)
{
    if (csv_need(csv, "job", &at->job, err) < 0)
        return -1;
    at->gpu = csv_column(csv, "gpu");
    at->busy = csv_column(csv, "busy");
    at->memory_busy = csv_column(csv, "memory_busy");
    at->watts = csv_column(csv, "watts");
    at->memory = csv_column(csv, "memory_gb");
    at->host = csv_column(csv, "host");
    if (at->gpu < 0 && (at->watts >= 0 || at->memory >= 0))
        return err_set(err, ERR_FORMAT,
                       "watts and memory_gb need the column gpu: they are told as shares "
                       "of what a GPU has");
    return 0;
}

static void add_all(struct counter_sums *into, const struct counter_sums *row)
{
    for (int c = 0; c < JOB_COUNTERS; c++) {
        into->sum[c] += row->sum[c];
        into->rows[c] += row->rows[c];
    }
}

int counters_csv_load(const struct world *world, const char *path,
                      struct job_counters *counters, struct err *err)
{
    struct counter_sums *sums, row;
    struct counter_columns at;
    struct csv *csv;
    int more = -1;

    if (csv_load(&csv, path, err) < 0)
        return -1;
    sums = mem_array(struct counter_sums, (size_t)world->class_count + 1);
    if (find_columns(&at, csv, err) < 0)
        goto done;
    while ((more = csv_next(csv, err)) > 0) {
        if (read_row(csv, &at, world, &row, err) < 0) {
            more = -1;
            goto done;
        }
        for (int c = 0; c < world->class_count; c++)
            if (is_job(world, c, csv_field(csv, at.job)))
                add_all(&sums[c], &row);
    }
    for (int c = 0; more == 0 && c < world->class_count; c++)
        counters[c] = mean_of(&sums[c]);
done:
    free(sums);
    csv_destroy(csv);
    return more;
}

void counters_from_watts(const struct world *world, struct job_counters *counters)
{
    for (int c = 0; c < world->class_count; c++) {
        struct counter_sums sums = {0};

        for (int g = 0; g < world->gpu_count; g++)
            if (*world_watts(world, g, c) > 0) /* not NaN */
                add(&sums, COUNTER_WATTS,
                    power_busy(&world->gpus[g], (double)*world_watts(world, g, c)));
        counters[c] = mean_of(&sums);
    }
}
