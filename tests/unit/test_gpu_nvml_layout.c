/* test_gpu_nvml_layout.c - our declarations of NVIDIA's library against figures written
 * down on their own
 *
 * The fake library is built with the same header as the code that reads it, so a wrong
 * declaration would agree with itself.  The figures here are of the 64-bit ABI as the
 * library's documentation and public bindings in other languages give it: where each
 * member lies, what each number means, how each function is called. */
#include "gpu/nvml_api.h"
#include "support/test.h"

#include <stdio.h>
#include <string.h>

#define AT(type, member) (int)offsetof(struct type, member)

CASE(structs_lie_as_the_library_writes_them)
{
    const struct {
        const char *what;
        int ours, theirs;
    } figures[] = {
        {"nvmlPciInfo_t", sizeof(struct nvml_pci), 68},
        {".busIdLegacy", AT(nvml_pci, bus_id_short), 0},
        {".domain", AT(nvml_pci, domain), 16},
        {".bus", AT(nvml_pci, bus), 20},
        {".device", AT(nvml_pci, device), 24},
        {".pciDeviceId", AT(nvml_pci, device_id), 28},
        {".pciSubSystemId", AT(nvml_pci, subsystem_id), 32},
        {".busId", AT(nvml_pci, bus_id), 36},
        {"nvmlMemory_t", sizeof(struct nvml_memory), 24},
        {".total", AT(nvml_memory, total), 0},
        {".free", AT(nvml_memory, free), 8},
        {".used", AT(nvml_memory, used), 16},
        {"nvmlUtilization_t", sizeof(struct nvml_utilisation), 8},
        {".gpu", AT(nvml_utilisation, gpu), 0},
        {".memory", AT(nvml_utilisation, memory), 4},
        {"nvmlProcessInfo_v2_t", sizeof(struct nvml_process), 24},
        {".pid", AT(nvml_process, pid), 0},
        {".usedGpuMemory", AT(nvml_process, used_memory), 8},
        {".gpuInstanceId", AT(nvml_process, gpu_instance), 16},
        {".computeInstanceId", AT(nvml_process, compute_instance), 20},
        {"nvmlProcessUtilizationSample_t", sizeof(struct nvml_process_use), 32},
        {".pid", AT(nvml_process_use, pid), 0},
        {".timeStamp", AT(nvml_process_use, at_us), 8},
        {".smUtil", AT(nvml_process_use, sm), 16},
        {".memUtil", AT(nvml_process_use, memory), 20},
        {".encUtil", AT(nvml_process_use, encoder), 24},
        {".decUtil", AT(nvml_process_use, decoder), 28},
        {"nvmlFieldValue_t", sizeof(struct nvml_field), 40},
        {".fieldId", AT(nvml_field, id), 0},
        {".scopeId", AT(nvml_field, scope), 4},
        {".timestamp", AT(nvml_field, at_us), 8},
        {".latencyUsec", AT(nvml_field, latency_us), 16},
        {".valueType", AT(nvml_field, type), 24},
        {".nvmlReturn", AT(nvml_field, result), 28},
        {".value", AT(nvml_field, value), 32},
        {"nvmlValue_t", sizeof(((struct nvml_field *)0)->value), 8},
        {"nvmlDevice_t", sizeof(struct nvml_handle *), 8},
    };

    for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++)
        if (figures[i].ours != figures[i].theirs)
            fail_msg("%s: ours %d, theirs %d", figures[i].what, figures[i].ours,
                     figures[i].theirs);
}

CASE(numbers_mean_what_the_library_means)
{
    const struct {
        const char *what;
        long long ours, theirs;
    } figures[] = {
        {"NVML_SUCCESS", NVML_DONE, 0},
        {"NVML_ERROR_UNINITIALIZED", NVML_UNINITIALIZED, 1},
        {"NVML_ERROR_INVALID_ARGUMENT", NVML_INVALID_ARGUMENT, 2},
        {"NVML_ERROR_NOT_SUPPORTED", NVML_NOT_SUPPORTED, 3},
        {"NVML_ERROR_NO_PERMISSION", NVML_NO_PERMISSION, 4},
        {"NVML_ERROR_NOT_FOUND", NVML_NOT_FOUND, 6},
        {"NVML_ERROR_INSUFFICIENT_SIZE", NVML_INSUFFICIENT_SIZE, 7},
        {"NVML_ERROR_DRIVER_NOT_LOADED", NVML_DRIVER_NOT_LOADED, 9},
        {"NVML_ERROR_TIMEOUT", NVML_TIMEOUT, 10},
        {"NVML_ERROR_FUNCTION_NOT_FOUND", NVML_FUNCTION_NOT_FOUND, 13},
        {"NVML_ERROR_GPU_IS_LOST", NVML_GPU_IS_LOST, 15},
        {"NVML_ERROR_RESET_REQUIRED", NVML_RESET_REQUIRED, 16},
        {"NVML_ERROR_OPERATING_SYSTEM", NVML_OPERATING_SYSTEM, 17},
        {"NVML_ERROR_LIB_RM_VERSION_MISMATCH", NVML_VERSION_MISMATCH, 18},
        {"NVML_ERROR_NO_DATA", NVML_NO_DATA, 21},
        {"NVML_ERROR_UNKNOWN", NVML_UNKNOWN, 999},
        {"NVML_DEVICE_ARCH_KEPLER", NVML_KEPLER, 2},
        {"NVML_DEVICE_ARCH_VOLTA", NVML_VOLTA, 5},
        {"NVML_DEVICE_ARCH_AMPERE", NVML_AMPERE, 7},
        {"NVML_FI_DEV_POWER_AVERAGE", NVML_FIELD_POWER_AVERAGE, 185},
        {"NVML_FI_DEV_POWER_INSTANT", NVML_FIELD_POWER_INSTANT, 186},
        {"NVML_TEMPERATURE_GPU", NVML_SENSOR_GPU, 0},
        {"NVML_DEVICE_MIG_ENABLE", NVML_MIG_ON, 1},
        {"nvmlClocksThrottleReasonGpuIdle", NVML_REASON_IDLE, 0x1},
        {"...ApplicationsClocksSetting", NVML_REASON_CLOCKS_SETTING, 0x2},
        {"...SwPowerCap", NVML_REASON_POWER_CAP, 0x4},
        {"...HwSlowdown", NVML_REASON_HW_SLOWDOWN, 0x8},
        {"...SyncBoost", NVML_REASON_SYNC_BOOST, 0x10},
        {"...SwThermalSlowdown", NVML_REASON_SW_THERMAL, 0x20},
        {"...HwThermalSlowdown", NVML_REASON_HW_THERMAL, 0x40},
        {"...HwPowerBrakeSlowdown", NVML_REASON_POWER_BRAKE, 0x80},
        {"...DisplayClockSetting", NVML_REASON_DISPLAY, 0x100},
        {"NVML_VALUE_TYPE_DOUBLE", NVML_VALUE_DOUBLE, 0},
        {"NVML_VALUE_TYPE_UNSIGNED_INT", NVML_VALUE_UINT, 1},
        {"NVML_VALUE_TYPE_UNSIGNED_LONG", NVML_VALUE_ULONG, 2},
        {"NVML_VALUE_TYPE_UNSIGNED_LONG_LONG", NVML_VALUE_ULLONG, 3},
        {"NVML_VALUE_TYPE_SIGNED_LONG_LONG", NVML_VALUE_LLONG, 4},
        {"NVML_VALUE_TYPE_SIGNED_INT", NVML_VALUE_INT, 5},
    };

    for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++)
        if (figures[i].ours != figures[i].theirs)
            fail_msg("%s: ours %lld, theirs %lld", figures[i].what, figures[i].ours,
                     figures[i].theirs);
}

/* In any order; a name with a version behind it is another function than without. */
CASE(functions_are_asked_for_by_their_names)
{
    static const char *const theirs[] = {
        "nvmlInit_v2",
        "nvmlInit",
        "nvmlShutdown",
        "nvmlErrorString",
        "nvmlSystemGetDriverVersion",
        "nvmlDeviceGetCount_v2",
        "nvmlDeviceGetCount",
        "nvmlDeviceGetHandleByIndex_v2",
        "nvmlDeviceGetHandleByIndex",
        "nvmlDeviceGetUUID",
        "nvmlDeviceGetName",
        "nvmlDeviceGetPciInfo_v3",
        "nvmlDeviceGetMemoryInfo",
        "nvmlDeviceGetPowerUsage",
        "nvmlDeviceGetTotalEnergyConsumption",
        "nvmlDeviceGetUtilizationRates",
        "nvmlDeviceGetTemperature",
        "nvmlDeviceGetCurrentClocksEventReasons",
        "nvmlDeviceGetCurrentClocksThrottleReasons",
        "nvmlDeviceGetPowerManagementLimit",
        "nvmlDeviceGetPowerManagementDefaultLimit",
        "nvmlDeviceGetPowerManagementLimitConstraints",
        "nvmlDeviceGetEnforcedPowerLimit",
        "nvmlDeviceSetPowerManagementLimit",
        "nvmlDeviceGetComputeRunningProcesses_v2",
        "nvmlDeviceGetProcessUtilization",
        "nvmlDeviceGetFieldValues",
        "nvmlDeviceGetArchitecture",
        "nvmlDeviceGetMigMode",
        "nvmlDeviceGetMaxMigDeviceCount",
        "nvmlDeviceGetMigDeviceHandleByIndex",
    };
    size_t asked = 0;

    for (const struct gpu_symbol *s = nvml_symbols; s->names[0]; s++)
        for (size_t v = 0; v < 3 && s->names[v]; v++, asked++) {
            const char *name = s->names[v];
            size_t i = 0;

            while (i < sizeof(theirs) / sizeof(theirs[0]) && strcmp(theirs[i], name) != 0)
                i++;
            if (i == sizeof(theirs) / sizeof(theirs[0]))
                fail_msg("there is no function %s", name);
        }
    assert_int_equal(asked, sizeof(theirs) / sizeof(theirs[0]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(structs_lie_as_the_library_writes_them),
        cmocka_unit_test(numbers_mean_what_the_library_means),
        cmocka_unit_test(functions_are_asked_for_by_their_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
