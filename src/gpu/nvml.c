/* nvml.c - NVIDIA devices: opening and power limits; nvml_list.c and nvml_read.c do the
 * rest */
#include "gpu/nvml_private.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

enum gpu_status nvml_entry_handle(struct nvml *nvml, int device,
                                  struct nvml_handle **handle, struct err *err)
{
    enum gpu_status status = GPU_LOST;

    pthread_mutex_lock(&nvml->mutex);
    if (device >= 0 && device < nvml->count && nvml->entries[device].handle) {
        *handle = nvml->entries[device].handle;
        status = GPU_OK;
    }
    pthread_mutex_unlock(&nvml->mutex);
    if (status != GPU_OK)
        err_set(err, ERR_NOT_FOUND,
                "the device is lost: unplugged, or its driver is gone");
    return status;
}

void nvml_entry_lost(struct nvml *nvml, int device)
{
    pthread_mutex_lock(&nvml->mutex);
    nvml->entries[device].handle = NULL;
    nvml->restart = true;
    pthread_mutex_unlock(&nvml->mutex);
}

static enum gpu_status missing(const char *what, struct err *err)
{
    err_set(err, ERR_UNSUPPORTED, "cannot %s: this driver does not support it", what);
    return GPU_UNSUPPORTED;
}

static enum gpu_status read_limit(const struct nvml_api *api, struct nvml_handle *handle,
                                  struct gpu_limit *limit, struct err *err)
{
    static const char what[] = "read the power limit";
    unsigned now = 0, min = 0, max = 0, usual = 0;
    int result;

    if (!api->limit || !api->limit_range)
        return missing(what, err);
    result = api->limit(handle, &now);
    if (result == NVML_DONE)
        result = api->limit_range(handle, &min, &max);
    if (result != NVML_DONE)
        return nvml_api_status(api, result, what, err);
    if (isnan(nvml_watts(now)) || isnan(nvml_watts(max)) || min > max) {
        err_set(err, ERR_UNSUPPORTED, "cannot %s: the driver's figures make no sense",
                what);
        return GPU_UNSUPPORTED;
    }
    limit->watts = nvml_watts(now);
    limit->min_watts = min / 1000.0;
    limit->max_watts = nvml_watts(max);
    limit->default_watts = NAN;
    if (api->limit_default && api->limit_default(handle, &usual) == NVML_DONE)
        limit->default_watts = nvml_watts(usual);
    return GPU_OK;
}

static enum gpu_status nvml_limit(void *self, int device, struct gpu_limit *limit,
                                  struct err *err)
{
    struct nvml *nvml = self;
    struct nvml_handle *handle;
    enum gpu_status status = nvml_entry_handle(nvml, device, &handle, err);

    if (status == GPU_OK)
        status = read_limit(&nvml->api, handle, limit, err);
    if (status == GPU_LOST)
        nvml_entry_lost(nvml, device);
    return status;
}

static enum gpu_status nvml_set_limit(void *self, int device, double watts,
                                      struct err *err)
{
    static const char what[] = "set the power limit";
    struct nvml *nvml = self;
    struct nvml_handle *handle;
    enum gpu_status status = nvml_entry_handle(nvml, device, &handle, err);
    int result;

    if (status != GPU_OK)
        return status;
    if (!nvml->api.set_limit)
        return missing(what, err);
    result = nvml->api.set_limit(handle, (unsigned)lround(watts * 1000));
    status = nvml_api_status(&nvml->api, result, what, err);
    if (status == GPU_LOST)
        nvml_entry_lost(nvml, device);
    return status;
}

static void nvml_destroy(void *self)
{
    struct nvml *nvml = self;

    if (nvml->running)
        nvml->api.shutdown();
    pthread_mutex_destroy(&nvml->mutex);
    free(nvml);
}

enum gpu_status gpu_nvml_open(struct gpu_backend *backend, const char *library,
                              struct err *err)
{
    static const struct gpu_ops ops = {
        .name = "nvml",
        .list = nvml_list,
        .read = nvml_read,
        .limit = nvml_limit,
        .set_limit = nvml_set_limit,
        .destroy = nvml_destroy,
    };
    struct nvml_api api;
    struct nvml *nvml;
    enum gpu_status status = nvml_api_load(&api, library, err);

    if (status != GPU_OK)
        return status;
    nvml = mem_new(struct nvml);
    nvml->api = api;
    pthread_mutex_init(&nvml->mutex, NULL);
    *backend = (struct gpu_backend){.ops = &ops, .self = nvml};
    return GPU_OK;
}
