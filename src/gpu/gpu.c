/* gpu.c - the machine as one list of devices, see gpu.h */
#include "gpu/gpu.h"

#include "base/mem.h"
#include "base/str.h"
#include "world/power.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct gpu {
    int count;
    struct gpu_device *devices[GPU_MAX_DEVICES];
};

struct gpu *gpu_open(const struct gpu_options *options, struct err *err)
{
    (void)options;
    (void)err;
    return mem_new(struct gpu);
}

void gpu_close(struct gpu *gpu)
{
    free(gpu);
}

int gpu_count(const struct gpu *gpu)
{
    return gpu->count;
}

const struct gpu_device *gpu_device(const struct gpu *gpu, int device)
{
    return gpu->devices[device];
}

int gpu_find_uuid(const struct gpu *gpu, const char *uuid)
{
    for (int i = 0; i < gpu->count; i++)
        if (!strcmp(gpu->devices[i]->uuid, uuid))
            return i;
    return -1;
}

const char *gpu_remarks(const struct gpu *gpu)
{
    (void)gpu;
    return "";
}

int gpu_rescan(struct gpu *gpu)
{
    return gpu->count;
}

enum gpu_status gpu_read(struct gpu *gpu, int device, struct gpu_sample *sample,
                         struct err *err)
{
    (void)gpu;
    (void)device;
    (void)sample;
    err_set(err, ERR_UNSUPPORTED, "not there yet");
    return GPU_UNSUPPORTED;
}

enum gpu_status gpu_limit(struct gpu *gpu, int device, struct gpu_limit *limit,
                          struct err *err)
{
    (void)gpu;
    (void)device;
    (void)limit;
    err_set(err, ERR_UNSUPPORTED, "not there yet");
    return GPU_UNSUPPORTED;
}

enum gpu_status gpu_set_limit(struct gpu *gpu, int device, double watts, struct err *err)
{
    (void)gpu;
    (void)device;
    (void)watts;
    err_set(err, ERR_UNSUPPORTED, "not there yet");
    return GPU_UNSUPPORTED;
}

int gpu_add_model(struct gpu *gpu, const struct gpu_model *model, struct err *err)
{
    (void)gpu;
    (void)model;
    return err_set(err, ERR_UNSUPPORTED, "not there yet");
}
