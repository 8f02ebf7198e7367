/* nvml_read.c - one sample of an NVIDIA device, and what results of its library mean
 *
 * The watchdog of gpu_devices.c calls it for one device at a time.  Every figure is
 * optional: cards of ten years differ in what they tell, and an error of one call must
 * not cost the others.  Only "the device is lost" ends the reading. */
#include "gpu/nvml_api.h"

#include "base/clock.h"

#include <limits.h>
#include <math.h>

#define MOST_CELSIUS 200
#define MOST_USES    256 /* process samples of one reading */

static const char *reason(const struct nvml_api *api, int result)
{
    const char *text = api->error_string ? api->error_string(result) : NULL;

    return text ? text : "the driver says no more";
}

enum gpu_status nvml_status(const struct nvml_api *api, int result, const char *what,
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

double nvml_watts(unsigned milliwatts)
{
    double watts = milliwatts / 1000.0;

    /* A live card draws something: zero means that there is no sensor. */
    return milliwatts == 0 || watts > GPU_MOST_WATTS ? NAN : watts;
}

/* NaN unless it is a whole number of some kind. */
static double field_milliwatts(const struct nvml_field *field)
{
    if (field->result != NVML_DONE)
        return NAN;
    switch (field->type) {
    case NVML_VALUE_DOUBLE:
        return field->value.number;
    case NVML_VALUE_UINT:
        return field->value.u;
    case NVML_VALUE_ULONG:
        return (double)field->value.ul;
    case NVML_VALUE_ULLONG:
        return (double)field->value.ull;
    case NVML_VALUE_LLONG:
        return (double)field->value.ll;
    case NVML_VALUE_INT:
        return field->value.i;
    default:
        return NAN;
    }
}

static double field_watts(const struct nvml_api *api, struct nvml_handle *handle,
                          unsigned id)
{
    struct nvml_field field = {.id = id, .result = NVML_NOT_SUPPORTED};
    double milliwatts;

    if (!api->field_values || api->field_values(handle, 1, &field) != NVML_DONE)
        return NAN;
    milliwatts = field_milliwatts(&field);
    if (!(milliwatts > 0 && milliwatts < UINT_MAX))
        return NAN;
    return nvml_watts((unsigned)milliwatts);
}

/* A mean over the last second misses less between two readings than a reading of the
 * moment, so it is preferred. */
double nvml_power(const struct nvml_api *api, struct nvml_handle *handle, bool averages,
                  enum gpu_method *method)
{
    double watts = field_watts(api, handle, NVML_FIELD_POWER_AVERAGE);
    unsigned milliwatts = 0;

    *method = GPU_METHOD_AVERAGE;
    if (isfinite(watts))
        return watts;
    if (api->power_usage && api->power_usage(handle, &milliwatts) == NVML_DONE)
        watts = nvml_watts(milliwatts);
    *method = averages ? GPU_METHOD_AVERAGE : GPU_METHOD_INSTANT;
    if (isfinite(watts))
        return watts;
    watts = field_watts(api, handle, NVML_FIELD_POWER_INSTANT);
    *method = isfinite(watts) ? GPU_METHOD_INSTANT : GPU_METHOD_NONE;
    return watts;
}

static unsigned throttle_bits(unsigned long long reasons)
{
    static const struct {
        unsigned long long reason;
        unsigned bit;
    } table[] = {
        {NVML_REASON_IDLE, GPU_THROTTLE_IDLE},
        {NVML_REASON_CLOCKS_SETTING, GPU_THROTTLE_CLOCKS},
        {NVML_REASON_POWER_CAP, GPU_THROTTLE_POWER},
        {NVML_REASON_HW_SLOWDOWN, GPU_THROTTLE_OTHER},
        {NVML_REASON_SYNC_BOOST, GPU_THROTTLE_CLOCKS},
        {NVML_REASON_SW_THERMAL, GPU_THROTTLE_HEAT},
        {NVML_REASON_HW_THERMAL, GPU_THROTTLE_HEAT},
        {NVML_REASON_POWER_BRAKE, GPU_THROTTLE_BRAKE},
        {NVML_REASON_DISPLAY, GPU_THROTTLE_CLOCKS},
    };
    unsigned bits = 0;

    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        if (reasons & table[i].reason)
            bits |= table[i].bit;
        reasons &= ~table[i].reason;
    }
    return reasons ? bits | GPU_THROTTLE_OTHER : bits;
}

static struct gpu_process *process_of(struct gpu_sample *sample, unsigned pid)
{
    struct gpu_process *process;

    for (int i = 0; i < sample->process_count; i++)
        if (sample->processes[i].pid == (pid_t)pid)
            return &sample->processes[i];
    if (sample->process_count == GPU_MAX_PROCESSES) {
        sample->processes_cut = true;
        return NULL;
    }
    process = &sample->processes[sample->process_count++];
    *process =
        (struct gpu_process){.pid = (pid_t)pid, .utilisation = NAN, .memory_bytes = NAN};
    return process;
}

static void read_processes(const struct nvml_api *api, struct nvml_handle *handle,
                           struct gpu_sample *sample)
{
    struct nvml_process running[GPU_MAX_PROCESSES];
    unsigned count = GPU_MAX_PROCESSES;
    int result;

    if (!api->compute_processes)
        return;
    result = api->compute_processes(handle, &count, running);
    if (result == NVML_INSUFFICIENT_SIZE) {
        /* Which ones there are is not told then, only how many. */
        sample->processes_cut = true;
        return;
    }
    if (result != NVML_DONE || count > GPU_MAX_PROCESSES)
        return;
    sample->processes_known = true;
    for (unsigned i = 0; i < count; i++) {
        struct gpu_process *process = process_of(sample, running[i].pid);

        if (process && running[i].used_memory < (1ull << 50))
            process->memory_bytes = (double)running[i].used_memory;
    }
}

/* The driver keeps a few samples a process; what came since the last reading counts, as a
 * mean.  A process that runs and has no new sample did nothing. */
static void read_uses(const struct nvml_api *api, struct nvml_handle *handle,
                      struct nvml_entry *entry, struct gpu_sample *sample)
{
    struct nvml_process_use uses[MOST_USES];
    int counts[GPU_MAX_PROCESSES] = {0};
    unsigned count = MOST_USES;
    int result = api->process_use ? api->process_use(handle, uses, &count, entry->used_us)
                                  : NVML_NOT_SUPPORTED;

    if (result == NVML_NOT_FOUND)
        count = 0;
    else if (result != NVML_DONE || count > MOST_USES)
        return;
    for (int i = 0; i < sample->process_count; i++)
        sample->processes[i].utilisation = 0;
    for (unsigned i = 0; i < count; i++) {
        struct gpu_process *process;

        if (uses[i].pid == 0 || uses[i].sm > 100 || uses[i].at_us <= entry->used_us)
            continue;
        process = process_of(sample, uses[i].pid);
        if (!process)
            continue;
        if (counts[process - sample->processes]++ == 0)
            process->utilisation = 0;
        process->utilisation += uses[i].sm / 100.0;
    }
    for (unsigned i = 0; i < count; i++)
        if (uses[i].at_us > entry->used_us)
            entry->used_us = uses[i].at_us;
    for (int i = 0; i < sample->process_count; i++)
        if (counts[i] > 1)
            sample->processes[i].utilisation /= counts[i];
}

/* Whether a call answered; a loss is remembered on the way. */
static bool answered(int result, int *lost)
{
    if (result == NVML_GPU_IS_LOST || result == NVML_UNINITIALIZED ||
        result == NVML_DRIVER_NOT_LOADED || result == NVML_RESET_REQUIRED ||
        result == NVML_VERSION_MISMATCH)
        *lost = result;
    return result == NVML_DONE;
}

static void read_state(const struct nvml_api *api, struct nvml_handle *handle,
                       struct gpu_sample *sample, int *lost)
{
    struct nvml_utilisation percent;
    struct nvml_memory memory;
    unsigned long long reasons;
    unsigned value;

    if (api->utilisation && answered(api->utilisation(handle, &percent), lost) &&
        percent.gpu <= 100)
        sample->utilisation = percent.gpu / 100.0;
    if (api->memory && answered(api->memory(handle, &memory), lost) &&
        memory.used <= memory.total)
        sample->memory_used_bytes = (double)memory.used;
    if (api->temperature &&
        answered(api->temperature(handle, NVML_SENSOR_GPU, &value), lost) &&
        value <= MOST_CELSIUS)
        sample->temperature_c = value;
    if (api->throttle_reasons &&
        answered(api->throttle_reasons(handle, &reasons), lost) &&
        reasons != UINT64_MAX) {
        sample->throttle = throttle_bits(reasons);
        sample->throttle_known = true;
    }
    if ((api->limit_enforced && answered(api->limit_enforced(handle, &value), lost)) ||
        (api->limit && answered(api->limit(handle, &value), lost)))
        sample->limit_watts = nvml_watts(value);
}

static void read_power(const struct nvml_api *api, struct nvml_handle *handle,
                       bool averages, struct gpu_sample *sample)
{
    unsigned long long millijoules;

    /* Time and counter together: what comes between them is an error of the meter. */
    sample->at_s = clock_wall_s();
    if (api->energy && api->energy(handle, &millijoules) == NVML_DONE &&
        millijoules != UINT64_MAX && millijoules != UINT32_MAX)
        sample->energy_joules = (double)millijoules / 1000;
    sample->watts = nvml_power(api, handle, averages, &sample->method);
    if (isfinite(sample->watts))
        sample->watts_error = GPU_SENSOR_ERROR * sample->watts;
}

enum gpu_status nvml_read(void *self, int device, struct gpu_sample *sample,
                          struct err *err)
{
    struct nvml *nvml = self;
    const struct nvml_api *api = &nvml->api;
    struct nvml_handle *handle;
    struct gpu_sample now;
    enum gpu_status status = nvml_entry_handle(nvml, device, &handle, err);
    struct nvml_entry *entry;
    int lost = NVML_DONE;

    if (status != GPU_OK)
        return status;
    entry = &nvml->entries[device];
    gpu_sample_clear(&now);
    now.at_s = clock_wall_s();
    if (entry->device.kind != GPU_KIND_MIG)
        read_power(api, handle, entry->averages, &now);
    read_state(api, handle, &now, &lost);
    if (lost != NVML_DONE) {
        nvml_entry_lost(nvml, device);
        return nvml_status(api, lost, "read the device", err);
    }
    read_processes(api, handle, &now);
    read_uses(api, handle, entry, &now);
    *sample = now;
    return GPU_OK;
}
