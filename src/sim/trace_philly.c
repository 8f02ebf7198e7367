/* trace_philly.c - see trace_philly.h */
#include "sim/trace_philly.h"

#include "base/csv.h"
#include "base/vec.h"

#include <string.h>

#define SECONDS_MAX (10 * 365.25 * 86400)

static int read_rows(struct arrivals *arrivals, struct csv *csv, const char *name,
                     struct err *err)
{
    vec_of(struct arrival) list = {0};
    struct arrivals made;
    int at, duration, gpus, more, rc = -1;

    if (csv_need(csv, "arrival_s", &at, err) < 0 ||
        csv_need(csv, "duration_s", &duration, err) < 0 ||
        csv_need(csv, "num_gpus", &gpus, err) < 0)
        goto done;
    while ((more = csv_next(csv, err)) > 0) {
        struct arrival a;

        memset(&a, 0, sizeof(a));
        if (csv_double(csv, at, 0, SECONDS_MAX, &a.at_s, err) < 0 ||
            csv_double(csv, duration, 0, SECONDS_MAX, &a.duration_s, err) < 0 ||
            csv_int(csv, gpus, 0, 4096, &a.devices, err) < 0)
            goto done;
        if (list.count == WORKLOAD_MAX_REQUESTS) {
            csv_refuse(csv, err, ERR_LIMIT, "more than %d jobs; split the trace",
                       WORKLOAD_MAX_REQUESTS);
            goto done;
        }
        if (a.devices > 0 && a.duration_s > 0) /* else it never ran on a GPU */
            vec_push(&list, a);
    }
    if (more < 0)
        goto done;
    made = (struct arrivals){.count = list.count, .items = list.items};
    if (arrivals_finish(&made, name, err) < 0)
        goto done;
    *arrivals = made;
    list.items = NULL; /* the caller's now */
    rc = 0;
done:
    free(list.items);
    return rc;
}

int trace_philly_load(struct arrivals *arrivals, const char *path, struct err *err)
{
    struct csv *csv;
    int rc;

    if (csv_load(&csv, path, err) < 0)
        return -1;
    rc = read_rows(arrivals, csv, path, err);
    csv_destroy(csv);
    return rc;
}

int trace_philly_parse(struct arrivals *arrivals, const char *text, size_t length,
                       const char *name, struct err *err)
{
    struct csv *csv;
    int rc;

    if (csv_parse(&csv, text, length, name, err) < 0)
        return -1;
    rc = read_rows(arrivals, csv, name, err);
    csv_destroy(csv);
    return rc;
}
