/* nvml.c - NVIDIA devices: opening, listing, MIG instances, power limits
 *
 * gpu_devices.c opens it and its watchdog calls it; nvml_read.c takes the samples.
 * Listing runs on a thread of its own while others may read devices: an entry's device is
 * written before the count covers it, later only its handle changes, under the mutex. */
#include "gpu/nvml_api.h"

#include "base/mem.h"
#include "base/str.h"

#include <ctype.h>
#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define USUAL_LIBRARY "libnvidia-ml.so.1"

/* Newest name first: an older one does the same with fewer devices or reasons. */
const struct gpu_symbol nvml_symbols[] = {
#define SYMBOL(field, needed, ...)                                                       \
    {                                                                                    \
        offsetof(struct nvml_api, field), needed,                                        \
        {                                                                                \
            __VA_ARGS__                                                                  \
        }                                                                                \
    }
    SYMBOL(init, true, "nvmlInit_v2", "nvmlInit"),
    SYMBOL(shutdown, true, "nvmlShutdown"),
    SYMBOL(error_string, false, "nvmlErrorString"),
    SYMBOL(driver_version, false, "nvmlSystemGetDriverVersion"),
    SYMBOL(count, true, "nvmlDeviceGetCount_v2", "nvmlDeviceGetCount"),
    SYMBOL(by_index, true, "nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex"),
    SYMBOL(uuid, true, "nvmlDeviceGetUUID"),
    SYMBOL(name, true, "nvmlDeviceGetName"),
    SYMBOL(pci, false, "nvmlDeviceGetPciInfo_v3"),
    SYMBOL(memory, false, "nvmlDeviceGetMemoryInfo"),
    SYMBOL(power_usage, false, "nvmlDeviceGetPowerUsage"),
    SYMBOL(energy, false, "nvmlDeviceGetTotalEnergyConsumption"),
    SYMBOL(utilisation, false, "nvmlDeviceGetUtilizationRates"),
    SYMBOL(temperature, false, "nvmlDeviceGetTemperature"),
    SYMBOL(throttle_reasons, false, "nvmlDeviceGetCurrentClocksEventReasons",
           "nvmlDeviceGetCurrentClocksThrottleReasons"),
    SYMBOL(limit, false, "nvmlDeviceGetPowerManagementLimit"),
    SYMBOL(limit_default, false, "nvmlDeviceGetPowerManagementDefaultLimit"),
    SYMBOL(limit_range, false, "nvmlDeviceGetPowerManagementLimitConstraints"),
    SYMBOL(limit_enforced, false, "nvmlDeviceGetEnforcedPowerLimit"),
    SYMBOL(set_limit, false, "nvmlDeviceSetPowerManagementLimit"),
    /* Not the first version, whose struct is shorter, nor the third: drivers 535 before
     * 535.98 fill a longer struct there than all others. */
    SYMBOL(compute_processes, false, "nvmlDeviceGetComputeRunningProcesses_v2"),
    SYMBOL(process_use, false, "nvmlDeviceGetProcessUtilization"),
    SYMBOL(field_values, false, "nvmlDeviceGetFieldValues"),
    SYMBOL(architecture, false, "nvmlDeviceGetArchitecture"),
    SYMBOL(mig_mode, false, "nvmlDeviceGetMigMode"),
    SYMBOL(mig_max, false, "nvmlDeviceGetMaxMigDeviceCount"),
    SYMBOL(mig_by_index, false, "nvmlDeviceGetMigDeviceHandleByIndex"),
#undef SYMBOL
    {0},
};

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

/* GA100 is the one Ampere chip whose power reading is of the moment. */
static bool power_is_averaged(unsigned architecture, unsigned pci_device_id)
{
    bool ga100 = pci_device_id >> 24 == 0x20;

    return architecture >= NVML_AMPERE && architecture < 100 &&
           !(architecture == NVML_AMPERE && ga100);
}

/* "00000000:3B:00.0" -> "0000:3b:00.0", as sysfs names it. */
static void copy_pci(char *to, size_t size, const char *bus_id)
{
    size_t length = strnlen(bus_id, 32);
    const char *from = length > 12 ? bus_id + length - 12 : bus_id;
    size_t used = 0;

    for (; used + 1 < size && used < 12 && from[used]; used++)
        to[used] = (char)tolower((unsigned char)from[used]);
    to[used] = '\0';
}

static void note(struct gpu_device *device, const char *sentence)
{
    if (!device->note[0])
        str_copy(device->note, sizeof(device->note), sentence);
}

/* The board: how it tells power, whether it can be capped. */
static void describe_power(const struct nvml_api *api, struct nvml_entry *entry,
                           struct nvml_handle *handle)
{
    struct gpu_device *device = &entry->device;
    unsigned architecture = 0, mw, pending, mig = 0;
    unsigned long long mj;
    struct nvml_pci pci = {0};

    if (api->pci && api->pci(handle, &pci) == NVML_DONE)
        copy_pci(device->pci, sizeof(device->pci), pci.bus_id);
    if (api->architecture)
        api->architecture(handle, &architecture);
    entry->averages = power_is_averaged(architecture, pci.device_id);
    nvml_power(api, handle, entry->averages, &device->power_method);
    device->has_energy = api->energy && api->energy(handle, &mj) == NVML_DONE &&
                         mj != UINT64_MAX && mj != UINT32_MAX;
    device->has_limit =
        api->limit && api->limit(handle, &mw) == NVML_DONE && isfinite(nvml_watts(mw));
    if (api->mig_mode && api->mig_mode(handle, &mig, &pending) == NVML_DONE)
        device->partitioned = mig == NVML_MIG_ON;
    if (device->power_method == GPU_METHOD_NONE && !device->has_energy)
        note(device, "the driver tells no power of this card: it is modelled");
    if (device->partitioned)
        note(device, "in MIG mode: jobs go to its instances, power is of the whole GPU");
}

static void describe(struct nvml *nvml, struct nvml_entry *entry,
                     struct nvml_handle *handle, const char *uuid, int parent)
{
    const struct nvml_api *api = &nvml->api;
    struct gpu_device *device = &entry->device;
    struct nvml_memory memory;

    memset(device, 0, sizeof(*device));
    str_copy(device->uuid, sizeof(device->uuid), uuid);
    if (api->name(handle, device->name, sizeof(device->name)) != NVML_DONE)
        str_copy(device->name, sizeof(device->name), "unknown NVIDIA device");
    device->name[sizeof(device->name) - 1] = '\0';
    device->backend = "nvml";
    device->kind = parent < 0 ? GPU_KIND_GPU : GPU_KIND_MIG;
    device->parent = parent;
    if (api->driver_version)
        api->driver_version(device->driver, sizeof(device->driver) - 1);
    if (api->memory && api->memory(handle, &memory) == NVML_DONE)
        device->memory_bytes = (double)memory.total;
    if (parent < 0) {
        device->sheet = gpu_find(device->name);
        describe_power(api, entry, handle);
    } else {
        str_copy(device->pci, sizeof(device->pci), nvml->entries[parent].device.pci);
        note(device, "a MIG instance has no meter: its power is part of its GPU's");
    }
}

static int find_entry(const struct nvml *nvml, const char *uuid)
{
    for (int i = 0; i < nvml->count; i++)
        if (!strcmp(nvml->entries[i].device.uuid, uuid))
            return i;
    return -1;
}

/* Returns its index, -1 when it does not even tell its UUID or there is no room. */
static int note_device(struct nvml *nvml, struct nvml_handle *handle, int parent)
{
    char uuid[GPU_UUID_SIZE] = "";
    struct nvml_entry *entry;
    int index;

    if (nvml->api.uuid(handle, uuid, sizeof(uuid)) != NVML_DONE || !uuid[0])
        return -1;
    uuid[sizeof(uuid) - 1] = '\0';
    index = find_entry(nvml, uuid);
    if (index < 0) {
        if (nvml->count == GPU_MAX_DEVICES)
            return -1;
        describe(nvml, &nvml->entries[nvml->count], handle, uuid, parent);
    }
    pthread_mutex_lock(&nvml->mutex);
    if (index < 0)
        index = nvml->count++;
    entry = &nvml->entries[index];
    entry->handle = handle;
    entry->seen = true;
    pthread_mutex_unlock(&nvml->mutex);
    return index;
}

static void find_instances(struct nvml *nvml, struct nvml_handle *handle, int parent)
{
    const struct nvml_api *api = &nvml->api;
    unsigned current = 0, pending, most = 0;
    bool on = api->mig_mode && api->mig_max && api->mig_by_index &&
              api->mig_mode(handle, &current, &pending) == NVML_DONE &&
              current == NVML_MIG_ON;

    /* The mode can change while we run; readers copy it from the listing alone. */
    nvml->entries[parent].device.partitioned = on;
    if (!on || api->mig_max(handle, &most) != NVML_DONE)
        return;
    for (unsigned i = 0; i < most && i < GPU_MAX_DEVICES; i++) {
        struct nvml_handle *instance;

        if (api->mig_by_index(handle, i, &instance) == NVML_DONE)
            note_device(nvml, instance, parent);
    }
}

static int start(struct nvml *nvml)
{
    int result = NVML_DONE;
    bool restart;

    pthread_mutex_lock(&nvml->mutex);
    restart = nvml->restart;
    pthread_mutex_unlock(&nvml->mutex);
    if (nvml->running && restart) {
        nvml->api.shutdown();
        nvml->running = false;
    }
    if (!nvml->running)
        result = nvml->api.init();
    nvml->running = nvml->running || result == NVML_DONE;
    return result;
}

static int find_all(struct nvml *nvml)
{
    unsigned count = 0;
    int result = start(nvml);

    if (result == NVML_DONE)
        result = nvml->api.count(&count);
    if (result != NVML_DONE)
        return result;
    for (unsigned i = 0; i < count && i < GPU_MAX_DEVICES; i++) {
        struct nvml_handle *handle;
        int index;

        if (nvml->api.by_index(i, &handle) != NVML_DONE)
            continue;
        index = note_device(nvml, handle, -1);
        if (index >= 0)
            find_instances(nvml, handle, index);
    }
    return NVML_DONE;
}

static enum gpu_status nvml_list(void *self, struct gpu_device *devices, int capacity,
                                 int *count, struct err *err)
{
    struct nvml *nvml = self;
    int result, i;

    for (i = 0; i < nvml->count; i++)
        nvml->entries[i].seen = false;
    result = find_all(nvml);
    if (result != NVML_DONE && nvml->count == 0) {
        enum gpu_status status =
            nvml_status(&nvml->api, result, "start the NVIDIA library", err);

        return status == GPU_LOST ? GPU_UNSUPPORTED : status;
    }
    pthread_mutex_lock(&nvml->mutex);
    nvml->restart = result != NVML_DONE;
    for (i = 0; i < nvml->count; i++) {
        struct nvml_entry *entry = &nvml->entries[i];

        if (!entry->seen) {
            entry->handle = NULL;
            nvml->restart = true;
        }
        entry->device.status = entry->seen ? GPU_OK : GPU_LOST;
        if (i < capacity)
            devices[i] = entry->device;
    }
    *count = i < capacity ? i : capacity;
    pthread_mutex_unlock(&nvml->mutex);
    return GPU_OK;
}

static enum gpu_status not_there(const char *what, struct err *err)
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
        return not_there(what, err);
    result = api->limit(handle, &now);
    if (result == NVML_DONE)
        result = api->limit_range(handle, &min, &max);
    if (result != NVML_DONE)
        return nvml_status(api, result, what, err);
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
        return not_there(what, err);
    result = nvml->api.set_limit(handle, (unsigned)lround(watts * 1000));
    status = nvml_status(&nvml->api, result, what, err);
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
    const char *name = library ? library : USUAL_LIBRARY, *missing;
    void *found =
        dlopen(name, RTLD_NOW | RTLD_LOCAL); /* for good: drivers leave threads */
    struct nvml_api api = {0};
    struct nvml *nvml;

    if (!found) {
        err_set(err, ERR_UNSUPPORTED, "no NVIDIA driver here: %s", dlerror());
        return GPU_UNSUPPORTED;
    }
    missing = gpu_find_symbols(found, nvml_symbols, &api);
    if (missing) {
        err_set(err, ERR_UNSUPPORTED, "%s has no %s: install a driver of 2016 or later",
                name, missing);
        return GPU_UNSUPPORTED;
    }
    nvml = mem_new(struct nvml);
    nvml->api = api;
    pthread_mutex_init(&nvml->mutex, NULL);
    *backend = (struct gpu_backend){.ops = &ops, .self = nvml};
    return GPU_OK;
}
