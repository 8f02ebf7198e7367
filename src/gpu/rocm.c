/* rocm.c - AMD devices by the rocm_smi library, found at run time
 *
 * gpu_devices.c opens it and its watchdog calls it.  Beside sysfs it adds the energy
 * counter of the Instinct cards; alone, in a container that hides sysfs, it does the rest
 * too. Declarations are ours, from its documentation; it is never unloaded. */
#include "gpu/gpu_backend.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"

#include <dlfcn.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RSMI_DONE = 0, RSMI_PERMISSION = 4, RSMI_MEMORY_VRAM = 0, RSMI_TEMP_CURRENT = 0 };

struct rocm_api {
    int (*init)(uint64_t flags);
    int (*shut_down)(void);
    int (*count)(uint32_t *count);
    int (*unique_id)(uint32_t device, uint64_t *id);
    int (*pci_id)(uint32_t device, uint64_t *bdf);
    int (*name)(uint32_t device, char *name, size_t size);
    int (*power_average)(uint32_t device, uint32_t sensor, uint64_t *microwatts);
    int (*energy)(uint32_t device, uint64_t *counts, float *microjoules_a_count,
                  uint64_t *at_ns);
    int (*busy)(uint32_t device, uint32_t *percent);
    int (*memory_used)(uint32_t device, int type, uint64_t *bytes);
    int (*memory_total)(uint32_t device, int type, uint64_t *bytes);
    int (*temperature)(uint32_t device, uint32_t sensor, int metric,
                       int64_t *millidegrees);
    int (*cap)(uint32_t device, uint32_t sensor, uint64_t *microwatts);
    int (*cap_range)(uint32_t device, uint32_t sensor, uint64_t *max, uint64_t *min);
    int (*set_cap)(uint32_t device, uint32_t sensor, uint64_t microwatts);
};

static const struct gpu_symbol symbols[] = {
    {offsetof(struct rocm_api, init), true, {"rsmi_init"}},
    {offsetof(struct rocm_api, shut_down), true, {"rsmi_shut_down"}},
    {offsetof(struct rocm_api, count), true, {"rsmi_num_monitor_devices"}},
    {offsetof(struct rocm_api, unique_id), true, {"rsmi_dev_unique_id_get"}},
    {offsetof(struct rocm_api, pci_id), true, {"rsmi_dev_pci_id_get"}},
    {offsetof(struct rocm_api, name), true, {"rsmi_dev_name_get"}},
    {offsetof(struct rocm_api, power_average), true, {"rsmi_dev_power_ave_get"}},
    {offsetof(struct rocm_api, energy), true, {"rsmi_dev_energy_count_get"}},
    {offsetof(struct rocm_api, busy), true, {"rsmi_dev_busy_percent_get"}},
    {offsetof(struct rocm_api, memory_used), true, {"rsmi_dev_memory_usage_get"}},
    {offsetof(struct rocm_api, memory_total), true, {"rsmi_dev_memory_total_get"}},
    {offsetof(struct rocm_api, temperature), true, {"rsmi_dev_temp_metric_get"}},
    {offsetof(struct rocm_api, cap), true, {"rsmi_dev_power_cap_get"}},
    {offsetof(struct rocm_api, cap_range), true, {"rsmi_dev_power_cap_range_get"}},
    {offsetof(struct rocm_api, set_cap), true, {"rsmi_dev_power_cap_set"}},
    {0},
};

struct rocm {
    struct rocm_api api;
    bool running;
    uint32_t count; /* it does not notice cards that come later */
};

/* A library is never closed: drivers leave threads and exit handlers behind. */
static enum gpu_status load(struct rocm_api *api, const char *library, struct err *err)
{
    static const char *const usual[] = {"librocm_smi64.so.7", "librocm_smi64.so.6",
                                        "librocm_smi64.so.5", "librocm_smi64.so.1",
                                        "librocm_smi64.so"};
    void *lib = library ? dlopen(library, RTLD_NOW | RTLD_LOCAL) : NULL;
    const char *missing;

    for (size_t i = 0; !library && !lib && i < sizeof(usual) / sizeof(usual[0]); i++)
        lib = dlopen(usual[i], RTLD_NOW | RTLD_LOCAL);
    if (!lib) {
        err_set(err, ERR_UNSUPPORTED, "no rocm_smi library here: %s", dlerror());
        return GPU_UNSUPPORTED;
    }
    missing = gpu_find_symbols(lib, symbols, api);
    if (!missing)
        return GPU_OK;
    err_set(err, ERR_UNSUPPORTED, "the rocm_smi library has no %s", missing);
    return GPU_UNSUPPORTED;
}

static void describe(const struct rocm_api *api, uint32_t index,
                     struct gpu_device *device)
{
    uint64_t id = 0, bdf = 0, number, at;
    float unit;

    memset(device, 0, sizeof(*device));
    if (api->pci_id(index, &bdf) == RSMI_DONE)
        snprintf(device->pci, sizeof(device->pci), "%04x:%02x:%02x.%x",
                 (unsigned)(bdf >> 32 & 0xffff), (unsigned)(bdf >> 8 & 0xff),
                 (unsigned)(bdf >> 3 & 0x1f), (unsigned)(bdf & 7));
    if (api->unique_id(index, &id) == RSMI_DONE && id != 0)
        snprintf(device->uuid, sizeof(device->uuid), "GPU-%016llx",
                 (unsigned long long)id);
    else
        snprintf(device->uuid, sizeof(device->uuid), "GPU-pci-%s", device->pci);
    if (api->name(index, device->name, sizeof(device->name) - 1) != RSMI_DONE)
        str_copy(device->name, sizeof(device->name), "AMD device");
    device->backend = "rocm";
    device->parent = -1;
    device->sheet = gpu_find(device->name);
    if (api->memory_total(index, RSMI_MEMORY_VRAM, &number) == RSMI_DONE)
        device->memory_bytes = (double)number;
    if (api->power_average(index, 0, &number) == RSMI_DONE)
        device->power_method = GPU_METHOD_AVERAGE;
    device->has_energy =
        api->energy(index, &number, &unit, &at) == RSMI_DONE && number != UINT64_MAX;
    device->has_limit = api->cap(index, 0, &number) == RSMI_DONE;
}

static enum gpu_status rocm_list(void *self, struct gpu_device *devices, int capacity,
                                 int *count, struct err *err)
{
    struct rocm *rocm = self;

    if (!rocm->running) {
        int result = rocm->api.init(0);

        if (result != RSMI_DONE || rocm->api.count(&rocm->count) != RSMI_DONE) {
            err_set(err, ERR_UNSUPPORTED, "rocm_smi does not start (result %d)", result);
            return GPU_UNSUPPORTED;
        }
        rocm->running = true;
    }
    *count = 0;
    for (uint32_t i = 0; i < rocm->count && *count < capacity; i++)
        describe(&rocm->api, i, &devices[(*count)++]);
    return GPU_OK;
}

static enum gpu_status rocm_read(void *self, int device, struct gpu_sample *sample,
                                 struct err *err)
{
    const struct rocm_api *api = &((struct rocm *)self)->api;
    uint32_t index = (uint32_t)device, percent;
    uint64_t number, at;
    int64_t degrees;
    float unit = NAN;

    (void)err;
    gpu_sample_clear(sample);
    sample->at_s = clock_wall_s();
    if (api->energy(index, &number, &unit, &at) == RSMI_DONE && number != UINT64_MAX &&
        unit > 0)
        sample->energy_joules = (double)number * (double)unit / 1e6;
    if (api->power_average(index, 0, &number) == RSMI_DONE && number > 0 &&
        number < GPU_MOST_WATTS * 1e6) {
        sample->watts = (double)number / 1e6;
        sample->watts_error = GPU_SENSOR_ERROR * sample->watts;
        sample->method = GPU_METHOD_AVERAGE;
    }
    if (api->busy(index, &percent) == RSMI_DONE && percent <= 100)
        sample->utilisation = percent / 100.0;
    if (api->memory_used(index, RSMI_MEMORY_VRAM, &number) == RSMI_DONE)
        sample->memory_used_bytes = (double)number;
    if (api->temperature(index, 0, RSMI_TEMP_CURRENT, &degrees) == RSMI_DONE &&
        degrees > -100000 && degrees < 200000)
        sample->temperature_c = (double)degrees / 1000;
    if (api->cap(index, 0, &number) == RSMI_DONE && number > 0)
        sample->limit_watts = (double)number / 1e6;
    return GPU_OK;
}

static enum gpu_status rocm_limit(void *self, int device, struct gpu_limit *limit,
                                  struct err *err)
{
    const struct rocm_api *api = &((struct rocm *)self)->api;
    uint64_t now, min, max;

    if (api->cap((uint32_t)device, 0, &now) != RSMI_DONE ||
        api->cap_range((uint32_t)device, 0, &max, &min) != RSMI_DONE) {
        err_set(err, ERR_UNSUPPORTED, "this card has no power limit");
        return GPU_UNSUPPORTED;
    }
    *limit = (struct gpu_limit){.watts = (double)now / 1e6,
                                .min_watts = (double)min / 1e6,
                                .max_watts = (double)max / 1e6,
                                .default_watts = NAN};
    return GPU_OK;
}

static enum gpu_status rocm_set_limit(void *self, int device, double watts,
                                      struct err *err)
{
    const struct rocm_api *api = &((struct rocm *)self)->api;
    int result = api->set_cap((uint32_t)device, 0, (uint64_t)llround(watts * 1e6));

    if (result == RSMI_DONE)
        return GPU_OK;
    err_set(err, ERR_SYSTEM, "rocm_smi cannot set the power limit (result %d)%s", result,
            result == RSMI_PERMISSION ? ": only root may" : "");
    return result == RSMI_PERMISSION ? GPU_DENIED : GPU_FAILED;
}

static void rocm_destroy(void *self)
{
    struct rocm *rocm = self;

    if (rocm->running)
        rocm->api.shut_down();
    free(rocm);
}

enum gpu_status gpu_rocm_open(struct gpu_backend *backend, const char *library,
                              struct err *err)
{
    static const struct gpu_ops ops = {
        .name = "rocm",
        .list = rocm_list,
        .read = rocm_read,
        .limit = rocm_limit,
        .set_limit = rocm_set_limit,
        .destroy = rocm_destroy,
    };
    struct rocm_api api = {0};
    struct rocm *rocm;
    enum gpu_status status = load(&api, library, err);

    if (status != GPU_OK)
        return status;
    rocm = mem_new(struct rocm);
    rocm->api = api;
    *backend = (struct gpu_backend){.ops = &ops, .self = rocm};
    return GPU_OK;
}
