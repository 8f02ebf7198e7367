/* trace_alibaba.c - see trace_alibaba.h */
#include "sim/trace_alibaba.h"

#include "base/csv.h"
#include "base/vec.h"

#include <stdio.h>
#include <string.h>

#define SECONDS_MAX (10 * 365.25 * 86400)

struct columns {
    int gpus, qos, created, deleted, scheduled, spec;
};

static int find_columns(const struct csv *csv, struct columns *c, struct err *err)
{
    if (csv_need(csv, "num_gpu", &c->gpus, err) < 0 ||
        csv_need(csv, "qos", &c->qos, err) < 0 ||
        csv_need(csv, "creation_time", &c->created, err) < 0 ||
        csv_need(csv, "deletion_time", &c->deleted, err) < 0 ||
        csv_need(csv, "scheduled_time", &c->scheduled, err) < 0)
        return -1;
    c->spec = csv_column(csv, "gpu_spec");
    return 0;
}

static int class_of(const struct csv *csv, const char *qos, enum arrival_class *class,
                    struct err *err)
{
    static const struct {
        const char *qos;
        enum arrival_class class;
    } classes[] = {{"LS", ARRIVAL_SERVICE},
                   {"Guaranteed", ARRIVAL_SERVICE},
                   {"Burstable", ARRIVAL_TRAINING},
                   {"BE", ARRIVAL_BEST_EFFORT}};

    for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
        if (!strcmp(qos, classes[i].qos)) {
            *class = classes[i].class;
            return 0;
        }
    return csv_refuse(csv, err, ERR_INVALID,
                      "qos '%s' is none of LS, Guaranteed, Burstable and BE; correct it",
                      qos);
}

/* V100M16 and V100M32 are V100s with so much memory. */
static void copy_spec(struct arrival *a, const char *spec)
{
    size_t used = 0;

    while (*spec) {
        size_t length = strcspn(spec, "|");
        const char *name = !strncmp(spec, "V100M16", length)   ? "v100-16"
                           : !strncmp(spec, "V100M32", length) ? "v100-32"
                                                               : NULL;
        int wrote = name ? snprintf(a->gpus + used, sizeof(a->gpus) - used, "%s|", name)
                         : snprintf(a->gpus + used, sizeof(a->gpus) - used, "%.*s|",
                                    (int)length, spec);

        if (wrote < 0 || (size_t)wrote >= sizeof(a->gpus) - used)
            break;
        used += (size_t)wrote;
        spec += length + (spec[length] == '|');
    }
    a->gpus[used] = '\0';
}

/* 1: an arrival, 0: a pod to leave out. */
static int read_row(const struct csv *csv, const struct columns *c, struct arrival *a,
                    struct err *err)
{
    double deleted_s, scheduled_s;

    memset(a, 0, sizeof(*a));
    if (csv_int(csv, c->gpus, 0, 1024, &a->devices, err) < 0 ||
        csv_double(csv, c->created, 0, SECONDS_MAX, &a->at_s, err) < 0 ||
        class_of(csv, csv_field(csv, c->qos), &a->class, err) < 0)
        return -1;
    if (a->devices == 0 || !*csv_field(csv, c->scheduled) || !*csv_field(csv, c->deleted))
        return 0;
    if (csv_double(csv, c->deleted, 0, SECONDS_MAX, &deleted_s, err) < 0 ||
        csv_double(csv, c->scheduled, 0, SECONDS_MAX, &scheduled_s, err) < 0)
        return -1;
    a->duration_s = deleted_s - scheduled_s;
    copy_spec(a, csv_field(csv, c->spec));
    return a->duration_s > 0;
}

static int read_rows(struct arrivals *arrivals, struct csv *csv, const char *name,
                     struct err *err)
{
    vec_of(struct arrival) list = {0};
    struct arrivals made;
    struct columns columns;
    int more, rc = -1;

    if (find_columns(csv, &columns, err) < 0)
        goto done;
    while ((more = csv_next(csv, err)) > 0) {
        struct arrival a;
        int taken = read_row(csv, &columns, &a, err);

        if (taken < 0)
            goto done;
        if (list.count == WORKLOAD_MAX_REQUESTS) {
            csv_refuse(csv, err, ERR_LIMIT, "more than %d pods; split the list",
                       WORKLOAD_MAX_REQUESTS);
            goto done;
        }
        if (taken)
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

int trace_alibaba_load(struct arrivals *arrivals, const char *path, struct err *err)
{
    struct csv *csv;
    int rc;

    if (csv_load(&csv, path, err) < 0)
        return -1;
    rc = read_rows(arrivals, csv, path, err);
    csv_destroy(csv);
    return rc;
}

int trace_alibaba_parse(struct arrivals *arrivals, const char *text, size_t length,
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
