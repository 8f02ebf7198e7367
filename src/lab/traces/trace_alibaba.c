/* trace_alibaba.c - Alibaba's list of pods, a row at a time for arrivals.c */
#include "lab/traces/trace_alibaba.h"

#include <stdio.h>
#include <string.h>

enum { GPUS, QOS, CREATED, DELETED, SCHEDULED, SPEC, MILLI };

static int find_columns(const struct csv *csv, int *columns, struct err *err)
{
    if (csv_need(csv, "num_gpu", &columns[GPUS], err) < 0 ||
        csv_need(csv, "qos", &columns[QOS], err) < 0 ||
        csv_need(csv, "creation_time", &columns[CREATED], err) < 0 ||
        csv_need(csv, "deletion_time", &columns[DELETED], err) < 0 ||
        csv_need(csv, "scheduled_time", &columns[SCHEDULED], err) < 0)
        return -1;
    columns[SPEC] = csv_column(csv, "gpu_spec");
    columns[MILLI] = csv_column(csv, "gpu_milli");
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

/* The catalogue's name of a type; NULL: the same. */
static const char *catalogue_name(const char *spec, size_t length)
{
    static const struct {
        const char *spec;
        const char *name;
    } names[] = {{"V100M16", "v100-16"}, /* V100s with so much memory */
                 {"V100M32", "v100-32"},
                 {"G2", "a10"}, /* stand-ins, see trace_alibaba.h */
                 {"G3", "a100"}};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strlen(names[i].spec) == length && !strncmp(spec, names[i].spec, length))
            return names[i].name;
    return NULL;
}

static void copy_spec(struct arrival *a, const char *spec)
{
    size_t used = 0;

    while (*spec) {
        size_t length = strcspn(spec, "|");
        const char *name = catalogue_name(spec, length);
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

/* Thousandths of a GPU, as far as it is less than one. */
static int read_share(const struct csv *csv, int column, struct arrival *a,
                      struct err *err)
{
    int milli;

    if (column < 0 || !*csv_field(csv, column))
        return 0;
    if (csv_int(csv, column, 0, 1000, &milli, err) < 0)
        return -1;
    a->share = a->devices == 1 && milli < 1000 ? milli / 1000.0 : 0;
    return 0;
}

static int read_row(const struct csv *csv, const int *columns, struct arrival *a,
                    struct err *err)
{
    double deleted_s, scheduled_s;

    if (csv_int(csv, columns[GPUS], 0, ARRIVALS_MAX_DEVICES, &a->devices, err) < 0 ||
        csv_double(csv, columns[CREATED], 0, ARRIVALS_MAX_S, &a->at_s, err) < 0 ||
        class_of(csv, csv_field(csv, columns[QOS]), &a->class, err) < 0 ||
        read_share(csv, columns[MILLI], a, err) < 0)
        return -1;
    if (a->devices == 0 || !*csv_field(csv, columns[SCHEDULED]) ||
        !*csv_field(csv, columns[DELETED]))
        return 0;
    if (csv_double(csv, columns[DELETED], 0, ARRIVALS_MAX_S, &deleted_s, err) < 0 ||
        csv_double(csv, columns[SCHEDULED], 0, ARRIVALS_MAX_S, &scheduled_s, err) < 0)
        return -1;
    a->duration_s = deleted_s - scheduled_s;
    copy_spec(a, csv_field(csv, columns[SPEC]));
    return a->duration_s > 0;
}

const struct arrivals_reader trace_alibaba_reader = {find_columns, read_row};
