/* cpu_model.c - the processor of a machine without any meter: a model, and it says so
 *
 * gpu_devices.c opens it where RAPL cannot be read.  Nothing tells the power of this
 * processor, so it gets a data sheet of a usual server's by its number of threads, and
 * the utilisation from /proc/stat.  The error bar covers that we do not know the
 * processor. */
#include "gpu/gpu_backend.h"

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

struct cpu_model {
    char proc[SYSFS_PATH_SIZE];
    struct cpu_load load;
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
    sample->utilisation = cpu_load_read(&model->load, model->proc);
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
    read_name(model);
    model->sheet.tdp_watts = FULL_WATTS_A_THREAD * (double)(threads > 0 ? threads : 1);
    model->sheet.idle_watts = IDLE_WATTS_A_THREAD * (double)(threads > 0 ? threads : 1);
    cpu_load_read(&model->load, model->proc);
    *backend = (struct gpu_backend){.ops = &ops, .self = model};
    return GPU_OK;
}
