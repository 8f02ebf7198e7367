/* trace_demand.c - requests a minute as the shape of services' load: scenario.c
 * applies it to a workload */
#include "lab/traces/trace_demand.h"

#include "base/mem.h"
#include "base/rng.h"
#include "base/vec.h"
#include "lab/tables/csv.h"
#include "lab/sim/run_measure.h"

#include <math.h>
#include <stdlib.h>

#define SECONDS_MAX (366 * 86400.0)
#define DEMAND_MIN  0.02
#define BUSY        0.95

static void to_shape(float *counts, size_t minutes)
{
    double *sorted = mem_array(double, minutes);
    double busy;

    for (size_t i = 0; i < minutes; i++)
        sorted[i] = counts[i];
    busy = fmax(1, measure_quantile(sorted, minutes, BUSY));
    for (size_t i = 0; i < minutes; i++)
        counts[i] = (float)fmin(1, fmax(DEMAND_MIN, counts[i] / busy));
    free(sorted);
}

static int read_rows(float **shape, size_t *minutes, struct csv *csv, const char *name,
                     struct err *err)
{
    vec_of(float) counts = {0};
    int column, more, rc = -1;

    if (csv_need(csv, "arrival_s", &column, err) < 0)
        goto done;
    while ((more = csv_next(csv, err)) > 0) {
        double at_s;

        if (csv_double(csv, column, 0, SECONDS_MAX, &at_s, err) < 0)
            goto done;
        while (counts.count <= (size_t)(at_s / 60))
            vec_push(&counts, 0);
        counts.items[(size_t)(at_s / 60)]++;
    }
    if (more < 0)
        goto done;
    /* The last minute is cut off by the end of the list. */
    if (counts.count < 2) {
        err_set(err, ERR_FORMAT,
                "%s covers less than two minutes; a shape needs requests over a longer "
                "time",
                name);
        goto done;
    }
    counts.count--;
    to_shape(counts.items, counts.count);
    *shape = counts.items;
    *minutes = counts.count;
    counts.items = NULL; /* the caller's now */
    rc = 0;
done:
    free(counts.items);
    return rc;
}

int trace_demand_load(float **shape, size_t *minutes, const char *path, struct err *err)
{
    struct csv *csv;
    int rc;

    if (csv_load(&csv, path, err) < 0)
        return -1;
    rc = read_rows(shape, minutes, csv, path, err);
    csv_destroy(csv);
    return rc;
}

void trace_demand_apply_take(struct workload *w, float *shape, size_t minutes)
{
    free(w->shape);
    w->shape = shape;
    for (size_t i = 0; i < w->count; i++) {
        struct sim_request *r = &w->requests[i];

        r->shape = shape;
        r->shape_minutes = minutes;
        r->shape_offset = (size_t)(rng_mix(r->hidden, 3) % minutes);
    }
}
