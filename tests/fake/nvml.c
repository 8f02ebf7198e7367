/* nvml.c - a FAKE libnvidia-ml.so.1, for machines without NVIDIA devices
 *
 * Not NVIDIA's library and none of its code: the entry points Corgi calls, answering from
 * the script named by CORGI_FAKE_NVML (see script.h).  The driver version and the UUIDs
 * say that it is a fake. */
#include "fake/script.h"
#include "fake/state.h"
#include "gpu/nvml_api.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The entry points are looked up by name: nobody includes their declarations. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#define EXPORT __attribute__((visibility("default")))

struct nvml_handle {
    int gpu;
    int instance; /* -1: the whole GPU */
};

static struct fake_script script;
static struct nvml_handle handles[FAKE_MAX_GPUS][FAKE_MAX_MIG + 1];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* guards what is below */
static bool loaded;
static double init_s = NAN; /* NaN: not initialised */

EXPORT void fake_nvml_set_time(double at_s)
{
    fake_state_set_now(at_s);
}

/* Forget script and hardware, for a test that begins anew. */
EXPORT void fake_nvml_reset(void)
{
    pthread_mutex_lock(&mutex);
    loaded = false;
    init_s = NAN;
    fake_state_reset();
    pthread_mutex_unlock(&mutex);
}

static int load(void)
{
    const char *path = getenv("CORGI_FAKE_NVML");
    char why[128];
    int line;

    if (loaded)
        return 0;
    if (!path)
        return NVML_DRIVER_NOT_LOADED;
    line = fake_script_load(&script, path, why, sizeof(why));
    if (line || fake_state_open(&script) < 0) {
        fprintf(stderr, "fake NVML: %s line %d: %s\n", path, line, why);
        return NVML_UNKNOWN;
    }
    for (int gpu = 0; gpu < FAKE_MAX_GPUS; gpu++)
        for (int i = 0; i <= FAKE_MAX_MIG; i++)
            handles[gpu][i] = (struct nvml_handle){.gpu = gpu, .instance = i - 1};
    loaded = true;
    return 0;
}

static bool reloading(double now)
{
    return script.reload_until_s > 0 && now >= script.reload_from_s &&
           now < script.reload_until_s;
}

static int ready(void)
{
    double now, since;

    pthread_mutex_lock(&mutex);
    since = init_s;
    pthread_mutex_unlock(&mutex);
    if (isnan(since))
        return NVML_UNINITIALIZED;
    now = fake_state_now();
    if (reloading(now))
        return NVML_DRIVER_NOT_LOADED;
    if (script.reload_until_s > 0 && since < script.reload_from_s &&
        now >= script.reload_until_s)
        return NVML_UNINITIALIZED;
    return NVML_DONE;
}

/* What the script says of this call: hang first, then an error. */
static int enter(const struct nvml_handle *handle, const char *function)
{
    const struct fake_gpu *gpu = &script.gpus[handle->gpu];
    const struct fake_event *event;
    int result = ready();

    if (result != NVML_DONE)
        return result;
    event = fake_script_event(gpu, FAKE_HANG, function, fake_state_now());
    while (event && fake_state_now() < event->until_s)
        usleep(2000);
    if (fake_script_event(gpu, FAKE_UNPLUG, NULL, fake_state_now()) ||
        fake_state_unplugged(handle->gpu))
        return NVML_GPU_IS_LOST;
    event = fake_script_event(gpu, FAKE_ERROR, function, fake_state_now());
    return event ? (int)event->value : NVML_DONE;
}

static bool sentinel(const struct nvml_handle *handle, const char *function)
{
    return fake_script_event(&script.gpus[handle->gpu], FAKE_SENTINEL, function,
                             fake_state_now());
}

#define ENTER(handle)                                                                    \
    do {                                                                                 \
        int entered_ = enter((handle), __func__);                                        \
        if (entered_ != NVML_DONE)                                                       \
            return entered_;                                                             \
    } while (0)

/* A figure of the whole GPU: instances have none. */
#define ENTER_BOARD(handle)                                                              \
    do {                                                                                 \
        ENTER(handle);                                                                   \
        if ((handle)->instance >= 0)                                                     \
            return NVML_NOT_SUPPORTED;                                                   \
    } while (0)

EXPORT int nvmlInit_v2(void)
{
    int result;

    pthread_mutex_lock(&mutex);
    result = load();
    if (result == NVML_DONE) {
        double now = fake_state_now();

        if (reloading(now))
            result = NVML_DRIVER_NOT_LOADED;
        else
            init_s = now;
    }
    pthread_mutex_unlock(&mutex);
    return result;
}

EXPORT int nvmlShutdown(void)
{
    pthread_mutex_lock(&mutex);
    init_s = NAN;
    pthread_mutex_unlock(&mutex);
    return NVML_DONE;
}

EXPORT const char *nvmlErrorString(int result)
{
    switch (result) {
    case NVML_GPU_IS_LOST:
        return "fake: GPU is lost";
    case NVML_UNINITIALIZED:
        return "fake: uninitialized";
    case NVML_DRIVER_NOT_LOADED:
        return "fake: driver not loaded";
    default:
        return "fake: error";
    }
}

static int give_text(char *to, unsigned size, const char *text)
{
    if (strlen(text) >= size)
        return NVML_INSUFFICIENT_SIZE;
    memcpy(to, text, strlen(text) + 1);
    return NVML_DONE;
}

EXPORT int nvmlSystemGetDriverVersion(char *version, unsigned size)
{
    return give_text(version, size, script.driver);
}

EXPORT int nvmlDeviceGetCount_v2(unsigned *count)
{
    int result = ready();

    if (result == NVML_DONE)
        *count = (unsigned)script.count;
    return result;
}

EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, struct nvml_handle **handle)
{
    int result = ready();

    if (result != NVML_DONE)
        return result;
    if (index >= (unsigned)script.count)
        return NVML_INVALID_ARGUMENT;
    ENTER(&handles[index][0]);
    *handle = &handles[index][0];
    return NVML_DONE;
}

EXPORT int nvmlDeviceGetUUID(struct nvml_handle *handle, char *uuid, unsigned size)
{
    const struct fake_gpu *gpu = &script.gpus[handle->gpu];
    char text[96];

    ENTER(handle);
    if (handle->instance < 0)
        return give_text(uuid, size, gpu->uuid);
    snprintf(text, sizeof(text), "MIG-%s-%d", gpu->uuid, handle->instance);
    return give_text(uuid, size, text);
}

EXPORT int nvmlDeviceGetName(struct nvml_handle *handle, char *name, unsigned size)
{
    const struct fake_gpu *gpu = &script.gpus[handle->gpu];
    char text[96];

    ENTER(handle);
    if (handle->instance < 0)
        return give_text(name, size, gpu->name);
    snprintf(text, sizeof(text), "%s MIG", gpu->name);
    return give_text(name, size, text);
}

EXPORT int nvmlDeviceGetPciInfo_v3(struct nvml_handle *handle, struct nvml_pci *pci)
{
    ENTER(handle);
    memset(pci, 0, sizeof(*pci));
    pci->device_id = script.gpus[handle->gpu].device_id;
    return give_text(pci->bus_id, sizeof(pci->bus_id), script.gpus[handle->gpu].pci);
}

EXPORT int nvmlDeviceGetMemoryInfo(struct nvml_handle *handle, struct nvml_memory *memory)
{
    const struct fake_gpu *gpu = &script.gpus[handle->gpu];
    struct fake_follower followers[FAKE_MAX_FOLLOWERS];
    double mb = 0, total = handle->instance < 0 ? gpu->memory_mb : gpu->mig_memory_mb;
    double now = fake_state_now();

    ENTER(handle);
    for (int i = 0; i < gpu->event_count; i++)
        if (gpu->events[i].kind == FAKE_PROCESS && gpu->events[i].from_s <= now &&
            now < gpu->events[i].until_s && handle->instance < 0)
            mb += gpu->events[i].more[0];
    if (gpu->follow)
        mb += gpu->follow_mb * fake_state_followers(gpu->uuid, followers);
    memory->total = (unsigned long long)total << 20;
    memory->used = (unsigned long long)fmin(mb, total) << 20;
    memory->free = memory->total - memory->used;
    if (sentinel(handle, __func__))
        memory->used = ~0ull;
    return NVML_DONE;
}

static int give_milliwatts(const struct nvml_handle *handle, const char *function,
                           double watts, unsigned *milliwatts)
{
    *milliwatts = sentinel(handle, function) ? ~0u : (unsigned)(watts * 1000);
    return NVML_DONE;
}

EXPORT int nvmlDeviceGetPowerUsage(struct nvml_handle *handle, unsigned *milliwatts)
{
    ENTER_BOARD(handle);
    return give_milliwatts(handle, __func__, fake_state_watts(handle->gpu), milliwatts);
}

EXPORT int nvmlDeviceGetTotalEnergyConsumption(struct nvml_handle *handle,
                                               unsigned long long *millijoules)
{
    ENTER_BOARD(handle);
    if (!script.gpus[handle->gpu].energy)
        return NVML_NOT_SUPPORTED;
    *millijoules = sentinel(handle, __func__)
                       ? ~0ull
                       : (unsigned long long)(fake_state_joules(handle->gpu) * 1000);
    return NVML_DONE;
}

EXPORT int nvmlDeviceGetUtilizationRates(struct nvml_handle *handle,
                                         struct nvml_utilisation *percent)
{
    const struct fake_gpu *gpu = &script.gpus[handle->gpu];
    struct fake_follower followers[FAKE_MAX_FOLLOWERS];
    double busy = fake_script_value(gpu, FAKE_UTIL, fake_state_now(), 0);

    ENTER_BOARD(handle);
    if (gpu->follow)
        busy += gpu->follow_percent * fake_state_followers(gpu->uuid, followers);
    percent->gpu = sentinel(handle, __func__) ? ~0u : (unsigned)fmin(busy, 100);
    percent->memory = percent->gpu;
    return NVML_DONE;
}

EXPORT int nvmlDeviceGetTemperature(struct nvml_handle *handle, int sensor,
                                    unsigned *celsius)
{
    ENTER_BOARD(handle);
    if (sensor != 0)
        return NVML_INVALID_ARGUMENT;
    *celsius = sentinel(handle, __func__)
                   ? ~0u
                   : (unsigned)(30 + fake_state_watts(handle->gpu) / 10);
    return NVML_DONE;
}

EXPORT int nvmlDeviceGetCurrentClocksThrottleReasons(struct nvml_handle *handle,
                                                     unsigned long long *reasons)
{
    const struct fake_gpu *gpu = &script.gpus[handle->gpu];

    ENTER_BOARD(handle);
    *reasons =
        (unsigned long long)fake_script_value(gpu, FAKE_THROTTLE, fake_state_now(), 0);
    if (fake_state_capped(handle->gpu))
        *reasons |= NVML_REASON_POWER_CAP;
    return NVML_DONE;
}

EXPORT int nvmlDeviceGetPowerManagementLimit(struct nvml_handle *handle, unsigned *mw)
{
    ENTER_BOARD(handle);
    if (script.gpus[handle->gpu].max <= 0)
        return NVML_NOT_SUPPORTED;
    return give_milliwatts(handle, __func__, fake_state_limit(handle->gpu), mw);
}

EXPORT int nvmlDeviceGetEnforcedPowerLimit(struct nvml_handle *handle, unsigned *mw)
{
    ENTER_BOARD(handle);
    if (script.gpus[handle->gpu].max <= 0)
        return NVML_NOT_SUPPORTED;
    return give_milliwatts(handle, __func__, fake_state_limit(handle->gpu), mw);
}

EXPORT int nvmlDeviceGetPowerManagementDefaultLimit(struct nvml_handle *handle,
                                                    unsigned *mw)
{
    ENTER_BOARD(handle);
    return give_milliwatts(handle, __func__, script.gpus[handle->gpu].limit, mw);
}

EXPORT int nvmlDeviceGetPowerManagementLimitConstraints(struct nvml_handle *handle,
                                                        unsigned *min, unsigned *max)
{
    ENTER_BOARD(handle);
    *min = (unsigned)(script.gpus[handle->gpu].min * 1000);
    *max = (unsigned)(script.gpus[handle->gpu].max * 1000);
    return NVML_DONE;
}

EXPORT int nvmlDeviceSetPowerManagementLimit(struct nvml_handle *handle, unsigned mw)
{
    const struct fake_gpu *gpu = &script.gpus[handle->gpu];

    ENTER_BOARD(handle);
    if (!gpu->setlimit)
        return NVML_NO_PERMISSION;
    if (mw < gpu->min * 1000 || mw > gpu->max * 1000)
        return NVML_INVALID_ARGUMENT;
    fake_state_set_limit(handle->gpu, mw / 1000.0);
    return NVML_DONE;
}

/* Scripted processes and sessions that follow, up to a number. */
struct running {
    unsigned pid;
    double mb, percent;
};

static unsigned list_running(const struct fake_gpu *gpu, struct running *out,
                             unsigned capacity)
{
    struct fake_follower followers[FAKE_MAX_FOLLOWERS];
    double now = fake_state_now();
    unsigned count = 0;

    for (int i = 0; i < gpu->event_count && count < capacity; i++) {
        const struct fake_event *e = &gpu->events[i];

        if (e->kind == FAKE_PROCESS && e->from_s <= now && now < e->until_s)
            out[count++] = (struct running){(unsigned)e->value, e->more[0], e->more[1]};
    }
    if (gpu->follow) {
        int following = fake_state_followers(gpu->uuid, followers);

        for (int i = 0; i < following && count < capacity; i++)
            out[count++] = (struct running){(unsigned)followers[i].pid, gpu->follow_mb,
                                            gpu->follow_percent};
    }
    return count;
}

EXPORT int nvmlDeviceGetComputeRunningProcesses_v2(struct nvml_handle *handle,
                                                   unsigned *count,
                                                   struct nvml_process *processes)
{
    struct running running[FAKE_MAX_EVENTS + FAKE_MAX_FOLLOWERS];
    unsigned have, room = *count;

    ENTER(handle);
    have = handle->instance < 0 ? list_running(&script.gpus[handle->gpu], running,
                                               sizeof(running) / sizeof(running[0]))
                                : 0;
    *count = have;
    if (have > room)
        return NVML_INSUFFICIENT_SIZE;
    for (unsigned i = 0; i < have; i++)
        processes[i] = (struct nvml_process){
            .pid = running[i].pid,
            .used_memory = sentinel(handle, __func__)
                               ? ~0ull
                               : (unsigned long long)running[i].mb << 20,
            .gpu_instance = ~0u,
            .compute_instance = ~0u};
    return NVML_DONE;
}

EXPORT int nvmlDeviceGetProcessUtilization(struct nvml_handle *handle,
                                           struct nvml_process_use *uses, unsigned *count,
                                           unsigned long long after_us)
{
    struct running running[FAKE_MAX_EVENTS + FAKE_MAX_FOLLOWERS];
    unsigned long long now_us = (unsigned long long)(fake_state_now() * 1e6) + 1;
    unsigned have, room = *count;

    ENTER_BOARD(handle);
    have = list_running(&script.gpus[handle->gpu], running,
                        sizeof(running) / sizeof(running[0]));
    *count = have;
    if (have == 0 || now_us <= after_us)
        return NVML_NOT_FOUND;
    if (have > room)
        return NVML_INSUFFICIENT_SIZE;
    for (unsigned i = 0; i < have; i++)
        uses[i] = (struct nvml_process_use){
            .pid = running[i].pid, .at_us = now_us, .sm = (unsigned)running[i].percent};
    return NVML_DONE;
}

EXPORT int nvmlDeviceGetFieldValues(struct nvml_handle *handle, int count,
                                    struct nvml_field *fields)
{
    ENTER_BOARD(handle);
    for (int i = 0; i < count; i++) {
        bool power = fields[i].id == NVML_FIELD_POWER_AVERAGE ||
                     fields[i].id == NVML_FIELD_POWER_INSTANT;

        fields[i].result = NVML_NOT_SUPPORTED;
        if (!power || !script.gpus[handle->gpu].field)
            continue;
        fields[i].result = NVML_DONE;
        fields[i].type = 1;
        give_milliwatts(handle, __func__, fake_state_watts(handle->gpu),
                        &fields[i].value.u);
    }
    return NVML_DONE;
}

EXPORT int nvmlDeviceGetArchitecture(struct nvml_handle *handle, unsigned *architecture)
{
    ENTER(handle);
    *architecture = (unsigned)script.gpus[handle->gpu].arch;
    return NVML_DONE;
}

EXPORT int nvmlDeviceGetMigMode(struct nvml_handle *handle, unsigned *current,
                                unsigned *pending)
{
    ENTER_BOARD(handle);
    if (script.gpus[handle->gpu].arch < NVML_AMPERE)
        return NVML_NOT_SUPPORTED;
    *current = *pending = script.gpus[handle->gpu].mig > 0;
    return NVML_DONE;
}

EXPORT int nvmlDeviceGetMaxMigDeviceCount(struct nvml_handle *handle, unsigned *count)
{
    ENTER_BOARD(handle);
    *count = FAKE_MAX_MIG;
    return NVML_DONE;
}

EXPORT int nvmlDeviceGetMigDeviceHandleByIndex(struct nvml_handle *handle, unsigned index,
                                               struct nvml_handle **instance)
{
    ENTER_BOARD(handle);
    if (index >= (unsigned)script.gpus[handle->gpu].mig)
        return NVML_NOT_FOUND;
    *instance = &handles[handle->gpu][index + 1];
    return NVML_DONE;
}
