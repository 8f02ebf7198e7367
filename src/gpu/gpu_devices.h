/* gpu_devices.h - the devices of this machine, read and limited
 *
 * Nothing here blocks for longer than the deadline.
 *
 *     struct gpu *gpu = gpu_open(&(struct gpu_options){0}, &err);
 *     for (int i = 0; i < gpu_count(gpu); i++)
 *         if (gpu_read(gpu, i, &sample, &err) == GPU_OK)
 *             use(gpu_device(gpu, i), &sample);
 *     gpu_close(gpu);
 *
 * Any thread may use a struct gpu.  Joules of an interval, and a thread that reads all
 * devices: gpu/gpu_meter.h; joules of a job: gpu/gpu_shares.h; power limits with consent
 * and restoring: gpu/gpu_caps.h. */
#pragma once

#include "gpu/gpu_backend.h"

enum gpu_backends {
    GPU_BACKEND_NVML = 1,
    GPU_BACKEND_AMD = 2, /* sysfs, then rocm_smi for what sysfs does not say */
    GPU_BACKEND_RAPL = 4,
    GPU_BACKEND_NONE = 8, /* the processor's model, where RAPL cannot be read */
    GPU_BACKEND_ALL = 15,
};

struct gpu_options {
    unsigned backends;        /* 0: all */
    const char *nvml_library; /* NULL: libnvidia-ml.so.1 */
    const char *rocm_library; /* NULL: librocm_smi64.so and its versions */
    const char *sysfs;        /* NULL: /sys */
    const char *proc;         /* NULL: /proc */
    double deadline_s;        /* of a call; 0: GPU_DEADLINE_S */
    double list_deadline_s;   /* of finding devices; 0: GPU_LIST_DEADLINE_S */
};

#define GPU_DEADLINE_S      2.0
#define GPU_LIST_DEADLINE_S 15.0 /* a driver without persistence starts in seconds */

struct gpu;

/* Every backend that finds something, each behind a watchdog.  A machine without devices
 * is no error: it has none.  NULL only when the options are wrong. */
struct gpu *gpu_open(const struct gpu_options *options, struct err *err);
void gpu_close(struct gpu *gpu); /* NULL is fine; a driver that hangs is left behind */

/* A device keeps its index as long as gpu is open, a lost one too. */
int gpu_count(struct gpu *gpu);
const struct gpu_device *gpu_device(struct gpu *gpu, int device); /* borrowed */
int gpu_find_uuid(struct gpu *gpu, const char *uuid);             /* -1: none */

/* Why a backend found nothing or what it lacks, as of gpu_open(), a line each. */
const char *gpu_remarks(const struct gpu *gpu);

/* Look again: new devices come at the end, lost ones may be back.  Returns the count. */
int gpu_rescan(struct gpu *gpu);

enum gpu_status gpu_read(struct gpu *gpu, int device, struct gpu_sample *sample,
                         struct err *err);
enum gpu_status gpu_limit(struct gpu *gpu, int device, struct gpu_limit *limit,
                          struct err *err);
/* Within the allowed range, else GPU_FAILED with ERR_INVALID.  Everyone but tests goes
 * through gpu/gpu_caps.h, which asks for consent and restores. */
enum gpu_status gpu_set_limit(struct gpu *gpu, int device, double watts, struct err *err);
