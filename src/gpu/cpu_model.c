/* cpu_model.c - the processor of a machine without any meter: a model, and it says so
 *
 * gpu_devices.c opens it where RAPL cannot be read.  Nothing tells the power of this
 * processor, so it gets a data sheet of a usual server's by its number of threads, and
 * the utilisation from /proc/stat.  The error bar covers that we do not know the
 * processor. */
#include "gpu/gpu_devices.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "gpu/cpu_load.h"
#include "gpu/sysfs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Servers of the last ten years lie between 2 and 8 W a thread at full load. */
#define FULL_WATTS_A_THREAD 4.0
#define IDLE_WATTS_A_THREAD 1.2
#define UNKNOWN_PROCESSOR   0.4 /* standard error of that, relative */

#define CPUINFO_HEAD        4096

struct none {
    char proc[SYSFS_PATH_SIZE];
    struct cpu_load load;
    struct gpu_sheet sheet;
    char name[GPU_TITLE_SIZE];
};

static void read_name(struct none *none)
{
    char head[CPUINFO_HEAD];
    const char *at;
    size_t length;

    str_copy(none->name, sizeof(none->name), "processor");
    if (sysfs_head(none->proc, "cpuinfo", head, sizeof(head)) != GPU_OK)
        return;
    at = strstr(head, "model name");
    at = at ? strchr(at, ':') : NULL;
    if (!at)
        return;
    at++;
    at += strspn(at, " \t");
    length = strcspn(at, "\n");
    if (length > 0 && length < sizeof(none->name)) {
        memcpy(none->name, at, length);
        none->name[length] = '\0';
    }
}

static enum gpu_status none_list(void *self, struct gpu_device *devices, int capacity,
                                 int *count, struct err *err)
{
    struct none *none = self;

    (void)err;
    *count = capacity > 0;
    if (*count == 0)
        return GPU_OK;
    memset(devices, 0, sizeof(*devices));
    str_copy(devices->uuid, sizeof(devices->uuid), "cpu-model");
    str_copy(devices->name, sizeof(devices->name), none->name);
    str_copy(devices->note, sizeof(devices->note),
             "no meter can be read: power is modelled from the load, not measured");
    devices->backend = "none";
    devices->kind = GPU_KIND_CPU;
    devices->parent = -1;
    devices->power_method = GPU_METHOD_MODEL;
    return GPU_OK;
}

static enum gpu_status none_read(void *self, int device, struct gpu_sample *sample,
                                 struct err *err)
{
    struct none *none = self;
    double error;

    (void)device;
    (void)err;
    gpu_sample_clear(sample);
    sample->at_s = clock_wall_s();
    sample->utilisation = cpu_load_read(&none->load, none->proc);
    sample->watts = gpu_model_watts(&none->sheet, sample->utilisation, &error);
    sample->watts_error = hypot(error, UNKNOWN_PROCESSOR * sample->watts);
    sample->method = GPU_METHOD_MODEL;
    return GPU_OK;
}

static enum gpu_status none_limit(void *self, int device, struct gpu_limit *limit,
                                  struct err *err)
{
    (void)self;
    (void)device;
    (void)limit;
    err_set(err, ERR_UNSUPPORTED, "a model has no power limit");
    return GPU_UNSUPPORTED;
}

static enum gpu_status none_set_limit(void *self, int device, double watts,
                                      struct err *err)
{
    (void)watts;
    return none_limit(self, device, NULL, err);
}

enum gpu_status gpu_none_open(struct gpu_backend *backend, const char *proc,
                              struct err *err)
{
    static const struct gpu_ops ops = {
        .name = "none",
        .list = none_list,
        .read = none_read,
        .limit = none_limit,
        .set_limit = none_set_limit,
        .destroy = free,
    };
    struct none *none = mem_new(struct none);
    long threads = sysconf(_SC_NPROCESSORS_ONLN);

    (void)err;
    str_copy(none->proc, sizeof(none->proc), proc ? proc : "/proc");
    read_name(none);
    none->sheet.tdp_watts = FULL_WATTS_A_THREAD * (double)(threads > 0 ? threads : 1);
    none->sheet.idle_watts = IDLE_WATTS_A_THREAD * (double)(threads > 0 ? threads : 1);
    cpu_load_read(&none->load, none->proc);
    *backend = (struct gpu_backend){.ops = &ops, .self = none};
    return GPU_OK;
}
