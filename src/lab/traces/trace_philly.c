/* trace_philly.c - Philly's list of jobs, a row at a time for arrivals.c */
#include "lab/traces/trace_philly.h"

enum { AT, DURATION, GPUS };

static int find_columns(const struct csv *csv, int *columns, struct err *err)
{
    if (csv_need(csv, "arrival_s", &columns[AT], err) < 0 ||
        csv_need(csv, "duration_s", &columns[DURATION], err) < 0)
        return -1;
    return csv_need(csv, "num_gpus", &columns[GPUS], err);
}

static int read_row(const struct csv *csv, const int *columns, struct arrival *a,
                    struct err *err)
{
    if (csv_double(csv, columns[AT], 0, ARRIVALS_MAX_S, &a->at_s, err) < 0 ||
        csv_double(csv, columns[DURATION], 0, ARRIVALS_MAX_S, &a->duration_s, err) < 0 ||
        csv_int(csv, columns[GPUS], 0, ARRIVALS_MAX_DEVICES, &a->devices, err) < 0)
        return -1;
    return a->devices > 0 && a->duration_s > 0; /* else it never ran on a GPU */
}

const struct arrivals_reader trace_philly_reader = {find_columns, read_row};
