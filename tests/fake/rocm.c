/* rocm.c - a FAKE librocm_smi64.so.7: one Instinct card that knows its energy
 *
 * Not AMD's library and none of its code.  The card has the identity of the one in
 * test_gpu_sysfs.c, so that what sysfs and the library tell is put together; its energy
 * counter moves by 1000 counts a call. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* The entry points are looked up by name: nobody includes their declarations. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#define EXPORT __attribute__((visibility("default")))

enum { DONE = 0, NOT_SUPPORTED = 2, OUT_OF_BOUNDS = 7 };

static uint64_t cap_microwatts = 300000000;

EXPORT int rsmi_init(uint64_t flags)
{
    return flags == 0 ? DONE : NOT_SUPPORTED;
}

EXPORT int rsmi_shut_down(void)
{
    return DONE;
}

EXPORT int rsmi_num_monitor_devices(uint32_t *count)
{
    *count = 1;
    return DONE;
}

EXPORT int rsmi_dev_unique_id_get(uint32_t device, uint64_t *id)
{
    *id = 0x5f1c2a3b4d5e6f70;
    return device == 0 ? DONE : OUT_OF_BOUNDS;
}

EXPORT int rsmi_dev_pci_id_get(uint32_t device, uint64_t *bdf)
{
    *bdf = 0x6300;
    return device == 0 ? DONE : OUT_OF_BOUNDS;
}

EXPORT int rsmi_dev_name_get(uint32_t device, char *name, size_t size)
{
    snprintf(name, size, "fake AMD Instinct MI210");
    return device == 0 ? DONE : OUT_OF_BOUNDS;
}

EXPORT int rsmi_dev_power_ave_get(uint32_t device, uint32_t sensor, uint64_t *microwatts)
{
    *microwatts = 150000000;
    return device == 0 && sensor == 0 ? DONE : OUT_OF_BOUNDS;
}

EXPORT int rsmi_dev_energy_count_get(uint32_t device, uint64_t *counts, float *unit,
                                     uint64_t *at_ns)
{
    static uint64_t counted;

    *counts = __atomic_add_fetch(&counted, 1000, __ATOMIC_RELAXED);
    *unit = 15.3F;
    *at_ns = 0;
    return device == 0 ? DONE : OUT_OF_BOUNDS;
}

EXPORT int rsmi_dev_busy_percent_get(uint32_t device, uint32_t *percent)
{
    *percent = 33;
    return device == 0 ? DONE : OUT_OF_BOUNDS;
}

EXPORT int rsmi_dev_memory_usage_get(uint32_t device, int type, uint64_t *bytes)
{
    *bytes = 1 << 30;
    return device == 0 && type == 0 ? DONE : OUT_OF_BOUNDS;
}

EXPORT int rsmi_dev_memory_total_get(uint32_t device, int type, uint64_t *bytes)
{
    *bytes = 64ull << 30;
    return device == 0 && type == 0 ? DONE : OUT_OF_BOUNDS;
}

EXPORT int rsmi_dev_temp_metric_get(uint32_t device, uint32_t sensor, int metric,
                                    int64_t *millidegrees)
{
    *millidegrees = 45000;
    return device == 0 && sensor == 0 && metric == 0 ? DONE : OUT_OF_BOUNDS;
}

EXPORT int rsmi_dev_power_cap_get(uint32_t device, uint32_t sensor, uint64_t *microwatts)
{
    *microwatts = cap_microwatts;
    return device == 0 && sensor == 0 ? DONE : OUT_OF_BOUNDS;
}

EXPORT int rsmi_dev_power_cap_range_get(uint32_t device, uint32_t sensor, uint64_t *max,
                                        uint64_t *min)
{
    *max = 300000000;
    *min = 100000000;
    return device == 0 && sensor == 0 ? DONE : OUT_OF_BOUNDS;
}

EXPORT int rsmi_dev_power_cap_set(uint32_t device, uint32_t sensor, uint64_t microwatts)
{
    cap_microwatts = microwatts;
    return device == 0 && sensor == 0 ? DONE : OUT_OF_BOUNDS;
}
