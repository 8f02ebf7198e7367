/* nvml_api.c - finding NVIDIA's management library, and what its results mean
 *
 * gpu_nvml_open() in nvml.c loads it; nvml.c and nvml_read.c call through the table. */
#include "gpu/nvml_api.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#define USUAL_LIBRARY "libnvidia-ml.so.1"

/* Newest name first: an older one does the same with fewer devices or reasons. */
const struct nvml_symbol nvml_symbols[] = {
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

enum gpu_status nvml_api_load(struct nvml_api *api, const char *library, struct err *err)
{
    const char *name = library ? library : USUAL_LIBRARY;
    struct nvml_api found = {0};
    void *lib = dlopen(name, RTLD_NOW | RTLD_LOCAL);

    if (!lib) {
        err_set(err, ERR_UNSUPPORTED, "no NVIDIA driver here: %s", dlerror());
        return GPU_UNSUPPORTED;
    }
    for (const struct nvml_symbol *s = nvml_symbols; s->names[0]; s++) {
        void *address = NULL;

        for (size_t n = 0; !address && n < 3 && s->names[n]; n++)
            address = dlsym(lib, s->names[n]);
        if (!address && s->needed) {
            err_set(err, ERR_UNSUPPORTED,
                    "%s has no %s: install a driver of 2016 or later", name, s->names[0]);
            return GPU_UNSUPPORTED;
        }
        memcpy((char *)&found + s->offset, &address, sizeof(address));
    }
    *api = found;
    return GPU_OK;
}

static const char *reason(const struct nvml_api *api, int result)
{
    const char *text = api->error_string ? api->error_string(result) : NULL;

    return text ? text : "the driver says no more";
}

enum gpu_status nvml_api_status(const struct nvml_api *api, int result, const char *what,
                                struct err *err)
{
    switch (result) {
    case NVML_DONE:
        return GPU_OK;
    case NVML_NOT_SUPPORTED:
    case NVML_FUNCTION_NOT_FOUND:
        err_set(err, ERR_UNSUPPORTED,
                "cannot %s: this device or driver does not support it", what);
        return GPU_UNSUPPORTED;
    case NVML_NO_PERMISSION:
        err_set(err, ERR_SYSTEM, "cannot %s: permission denied, only root may", what);
        return GPU_DENIED;
    case NVML_UNINITIALIZED:
    case NVML_NOT_FOUND:
    case NVML_DRIVER_NOT_LOADED:
    case NVML_GPU_IS_LOST:
    case NVML_RESET_REQUIRED:
    case NVML_VERSION_MISMATCH:
        err_set(err, ERR_NOT_FOUND, "cannot %s: the device is lost (%s)", what,
                reason(api, result));
        return GPU_LOST;
    default:
        err_set(err, ERR_SYSTEM, "cannot %s: %s (NVML result %d)", what,
                reason(api, result), result);
        return GPU_FAILED;
    }
}
