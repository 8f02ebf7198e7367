/* rapl.c - processor packages by the kernel's powercap files
 *
 * gpu_devices.c opens it and its watchdog calls it.  A package and the memory beside it
 * are two counters of one device.  Since 2020 the files are for root alone
 * (CVE-2020-8694): then the packages are listed as denied, with what to do about it. */
#include "gpu/gpu_backend.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "gpu/gpu_meter.h"
#include "gpu/sysfs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PACKAGES 16
#define MAX_ZONES    128
#define MOST_WATTS   2000.0 /* no package draws more */
#define DENIED_NOTE                                                                      \
    "energy_uj is for root alone (CVE-2020-8694): let corgid's group read it, or run "   \
    "it "                                                                                \
    "as root"

/* The maker promises no accuracy; studies against wall meters find a few percent. */
#define COUNTER_ERROR 0.03

struct zone {
    char folder[SYSFS_PATH_SIZE];
    struct gpu_counter counter; /* microjoules */
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
    if (sysfs_number(folder, "max_energy_range_uj", &zone->counter.range) != GPU_OK)
        zone->counter.range = 0;
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

/* Names come shorter first, so packages are there before their parts. */
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
            str_copy(device->note, sizeof(device->note), DENIED_NOTE);
    }
    return GPU_OK;
}

static enum gpu_status refuse(enum gpu_status status, const struct zone *zone,
                              struct err *err)
{
    if (status == GPU_DENIED)
        err_set(err, ERR_SYSTEM, "%s/" DENIED_NOTE, zone->folder);
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
        gpu_counter_add(&zone->counter, microjoules, now.at_s, MOST_WATTS * 1e6);
        sum += zone->counter.sum / 1e6;
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
