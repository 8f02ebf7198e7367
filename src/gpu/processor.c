/* processor.c - processor packages by their energy counters, or a model of the processor
 *
 * gpu_devices.c opens the counters and its watchdog calls them; where they cannot be read
 * it opens the model instead. */
#include "gpu/gpu_backend.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "gpu/sysfs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- packages by the kernel's powercap files --------------------------------------- */

/* A package and the memory beside it are two counters of one device.  Since 2020 the
 * files are for root alone (CVE-2020-8694): then the packages are listed as denied, with
 * what to do about it. */

#define MAX_PACKAGES 16
#define MAX_ZONES    128
#define MOST_WATTS   2000.0 /* no package draws more */

static const char denied_note[] = "energy_uj is for root alone (CVE-2020-8694): let "
                                  "corgid's group read it, or run it as root";

/* The maker promises no accuracy; studies against wall meters find a few percent. */
#define COUNTER_ERROR   0.03

#define COUNTER_SLACK_S 0.1 /* the hardware updates the counter when it likes */

/* A counter that wraps, as a running sum: a package at full load begins again every few
 * minutes to hours. */
struct zone {
    char folder[SYSFS_PATH_SIZE];
    double range; /* microjoules before it wraps; 0: it does not */
    double raw, at_s;
    double sum;
    bool started;
};

struct package {
    int number;
    int zone_count;
    struct zone zones[2]; /* the package, and its memory when that is counted apart */
    double joules, at_s;  /* at the last read; NaN before */
};

struct rapl {
    char folder[SYSFS_PATH_SIZE];
    int count;
    struct package packages[MAX_PACKAGES];
};

static void add_zone(struct package *package, const char *folder)
{
    struct zone *zone = &package->zones[package->zone_count++];

    str_copy(zone->folder, sizeof(zone->folder), folder);
    if (sysfs_number(folder, "max_energy_range_uj", &zone->range) != GPU_OK)
        zone->range = 0;
}

/* A step that no processor could have made in that time is not believed, and then the sum
 * begins at zero again, so that a caller who takes differences notices. */
static void count_on(struct zone *zone, double raw, double at_s)
{
    double step = raw - zone->raw;
    double most = (at_s - zone->at_s + COUNTER_SLACK_S) * MOST_WATTS * 1e6;

    if (step < 0 && zone->range > 0)
        step += zone->range;
    if (zone->started)
        zone->sum = step >= 0 && step <= most ? zone->sum + step : 0;
    zone->raw = raw;
    zone->at_s = at_s;
    zone->started = true;
}

/* "intel-rapl:0" is a package when it calls itself "package-N"; "intel-rapl:0:2" is a
 * part of it, and only "dram" is not in the package's own count. */
static void add_name(struct rapl *rapl, const char *name)
{
    char folder[SYSFS_PATH_SIZE], title[64];
    int first, second, package;

    if (snprintf(folder, sizeof(folder), "%s/%s", rapl->folder, name) >=
            (int)sizeof(folder) ||
        sysfs_line(folder, "name", title, sizeof(title)) != GPU_OK)
        return;
    if (sscanf(name, "intel-rapl:%d:%d", &first, &second) == 2) {
        for (int i = 0; i < rapl->count; i++)
            if (rapl->packages[i].number == first && !strcmp(title, "dram") &&
                rapl->packages[i].zone_count == 1)
                add_zone(&rapl->packages[i], folder);
    } else if (sscanf(name, "intel-rapl:%d", &first) == 1 &&
               sscanf(title, "package-%d", &package) == 1 && rapl->count < MAX_PACKAGES) {
        struct package *new = &rapl->packages[rapl->count++];

        new->number = first;
        new->joules = NAN;
        add_zone(new, folder);
    }
}

/* A package's name begins those of its parts, so it comes before them. */
static void find_packages(struct rapl *rapl)
{
    size_t count;
    char **names = sysfs_names(rapl->folder, "intel-rapl:", MAX_ZONES, &count);

    for (size_t i = 0; i < count; i++)
        add_name(rapl, names[i]);
    sysfs_names_free(names, count);
}

static enum gpu_status rapl_list(void *self, struct gpu_device *devices, int capacity,
                                 int *count, struct err *err)
{
    struct rapl *rapl = self;

    (void)err;
    *count = rapl->count < capacity ? rapl->count : capacity;
    for (int i = 0; i < *count; i++) {
        struct gpu_device *device = &devices[i];
        double microjoules;

        memset(device, 0, sizeof(*device));
        snprintf(device->uuid, sizeof(device->uuid), "cpu-package-%d",
                 rapl->packages[i].number);
        snprintf(device->name, sizeof(device->name), "processor package %d%s",
                 rapl->packages[i].number,
                 rapl->packages[i].zone_count > 1 ? " with its memory" : "");
        device->backend = "rapl";
        device->kind = GPU_KIND_CPU;
        device->parent = -1;
        device->power_method = GPU_METHOD_ENERGY;
        device->has_energy = true;
        device->status =
            sysfs_number(rapl->packages[i].zones[0].folder, "energy_uj", &microjoules);
        if (device->status == GPU_DENIED)
            str_copy(device->note, sizeof(device->note), denied_note);
    }
    return GPU_OK;
}

static enum gpu_status refuse(enum gpu_status status, const struct zone *zone,
                              struct err *err)
{
    if (status == GPU_DENIED)
        err_set(err, ERR_SYSTEM, "%s/%s", zone->folder, denied_note);
    else
        err_set(err, ERR_SYSTEM, "%s/energy_uj cannot be read", zone->folder);
    return status == GPU_UNSUPPORTED ? GPU_LOST : status;
}

static enum gpu_status rapl_read(void *self, int device, struct gpu_sample *sample,
                                 struct err *err)
{
    struct package *package = &((struct rapl *)self)->packages[device];
    struct gpu_sample now;
    double sum = 0;

    gpu_sample_clear(&now);
    now.at_s = clock_wall_s();
    for (int i = 0; i < package->zone_count; i++) {
        struct zone *zone = &package->zones[i];
        double microjoules;
        enum gpu_status status = sysfs_number(zone->folder, "energy_uj", &microjoules);

        if (status != GPU_OK)
            return refuse(status, zone, err);
        count_on(zone, microjoules, now.at_s);
        sum += zone->sum / 1e6;
    }
    now.energy_joules = sum;
    if (sum >= package->joules && now.at_s > package->at_s) {
        now.watts = (sum - package->joules) / (now.at_s - package->at_s);
        now.watts_error = COUNTER_ERROR * now.watts;
        now.method = GPU_METHOD_ENERGY;
    }
    package->joules = sum;
    package->at_s = now.at_s;
    *sample = now;
    return GPU_OK;
}

enum gpu_status gpu_rapl_open(struct gpu_backend *backend, const char *sysfs,
                              struct err *err)
{
    static const struct gpu_ops ops = {
        .name = "rapl",
        .list = rapl_list,
        .read = rapl_read,
        .destroy = free,
    };
    struct rapl *rapl = mem_new(struct rapl);

    snprintf(rapl->folder, sizeof(rapl->folder), "%.400s/class/powercap",
             sysfs ? sysfs : "/sys");
    find_packages(rapl);
    if (rapl->count == 0) {
        err_set(err, ERR_UNSUPPORTED, "no energy counters of processors in %s",
                rapl->folder);
        free(rapl);
        return GPU_UNSUPPORTED;
    }
    *backend = (struct gpu_backend){.ops = &ops, .self = rapl};
    return GPU_OK;
}

/* ---- a processor without any meter: a model, and it says so ------------------------ */

/* Nothing tells the power of this processor, so it gets a data sheet of a usual server's
 * by its number of threads, and the utilisation from /proc/stat.  The error bar covers
 * that we do not know the processor. */

/* Servers of the last ten years lie between 2 and 8 W a thread at full load. */
#define FULL_WATTS_A_THREAD 4.0
#define IDLE_WATTS_A_THREAD 1.2
#define UNKNOWN_PROCESSOR   0.4 /* standard error of that, relative */

#define CPUINFO_HEAD        4096

struct cpu_model {
    char proc[SYSFS_PATH_SIZE];
    double busy, total; /* ticks at the last look; NaN: none yet */
    struct gpu_sheet sheet;
    char name[GPU_TITLE_SIZE];
};

static void read_name(struct cpu_model *model)
{
    char head[CPUINFO_HEAD];
    const char *at;
    size_t length;

    str_copy(model->name, sizeof(model->name), "processor");
    if (sysfs_head(model->proc, "cpuinfo", head, sizeof(head)) != GPU_OK)
        return;
    at = strstr(head, "model name");
    at = at ? strchr(at, ':') : NULL;
    if (!at)
        return;
    at++;
    at += strspn(at, " \t");
    length = strcspn(at, "\n");
    if (length > 0 && length < sizeof(model->name)) {
        memcpy(model->name, at, length);
        model->name[length] = '\0';
    }
}

/* 0..1 since the last call; NaN at the first, or when nothing could be read. */
static double read_load(struct cpu_model *model)
{
    double busy, total, share = NAN;

    if (!sysfs_cpu_ticks(model->proc, &busy, &total))
        return NAN;
    if (total > model->total)
        share = fmin(fmax((busy - model->busy) / (total - model->total), 0), 1);
    model->busy = busy;
    model->total = total;
    return share;
}

static enum gpu_status cpu_model_list(void *self, struct gpu_device *devices,
                                      int capacity, int *count, struct err *err)
{
    struct cpu_model *model = self;

    (void)err;
    *count = capacity > 0;
    if (*count == 0)
        return GPU_OK;
    memset(devices, 0, sizeof(*devices));
    str_copy(devices->uuid, sizeof(devices->uuid), "cpu-model");
    str_copy(devices->name, sizeof(devices->name), model->name);
    str_copy(devices->note, sizeof(devices->note),
             "no meter can be read: power is modelled from the load, not measured");
    devices->backend = "none";
    devices->kind = GPU_KIND_CPU;
    devices->parent = -1;
    devices->power_method = GPU_METHOD_MODEL;
    return GPU_OK;
}

static enum gpu_status cpu_model_read(void *self, int device, struct gpu_sample *sample,
                                      struct err *err)
{
    struct cpu_model *model = self;
    double error;

    (void)device;
    (void)err;
    gpu_sample_clear(sample);
    sample->at_s = clock_wall_s();
    sample->utilisation = read_load(model);
    sample->watts = gpu_model_watts(&model->sheet, sample->utilisation, &error);
    sample->watts_error = hypot(error, UNKNOWN_PROCESSOR * sample->watts);
    sample->method = GPU_METHOD_MODEL;
    return GPU_OK;
}

enum gpu_status gpu_cpu_model_open(struct gpu_backend *backend, const char *proc,
                                   struct err *err)
{
    static const struct gpu_ops ops = {
        .name = "none",
        .list = cpu_model_list,
        .read = cpu_model_read,
        .destroy = free,
    };
    struct cpu_model *model = mem_new(struct cpu_model);
    long threads = sysconf(_SC_NPROCESSORS_ONLN);

    (void)err;
    str_copy(model->proc, sizeof(model->proc), proc ? proc : "/proc");
    model->total = NAN;
    read_name(model);
    model->sheet.tdp_watts = FULL_WATTS_A_THREAD * (double)(threads > 0 ? threads : 1);
    model->sheet.idle_watts = IDLE_WATTS_A_THREAD * (double)(threads > 0 ? threads : 1);
    read_load(model);
    *backend = (struct gpu_backend){.ops = &ops, .self = model};
    return GPU_OK;
}
