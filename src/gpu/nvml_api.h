/* nvml_api.h - the part of NVIDIA's management library we call, found at run time
 *
 * There is no header package to rely on, so the declarations are ours, written from the
 * library's documentation; they hold for every driver since 2016, what is newer may be
 * missing and is NULL then.  Only nvml*.c include this. */
#ifndef CORGI_GPU_NVML_API_H
#define CORGI_GPU_NVML_API_H

#include "base/err.h"
#include "gpu/gpu_backend.h"

#include <stddef.h>
#include <stdint.h>

struct nvml_handle; /* the library's */

enum nvml_result {
    NVML_DONE = 0,
    NVML_UNINITIALIZED = 1,
    NVML_INVALID_ARGUMENT = 2,
    NVML_NOT_SUPPORTED = 3,
    NVML_NO_PERMISSION = 4,
    NVML_NOT_FOUND = 6,
    NVML_INSUFFICIENT_SIZE = 7,
    NVML_DRIVER_NOT_LOADED = 9,
    NVML_TIMEOUT = 10,
    NVML_FUNCTION_NOT_FOUND = 13,
    NVML_GPU_IS_LOST = 15,
    NVML_RESET_REQUIRED = 16,
    NVML_OPERATING_SYSTEM = 17,
    NVML_VERSION_MISMATCH = 18, /* library and kernel module differ: being replaced */
    NVML_NO_DATA = 21,
    NVML_UNKNOWN = 999,
};

enum nvml_architecture {
    NVML_KEPLER = 2,
    NVML_VOLTA = 5,
    NVML_AMPERE = 7,
};

/* Field numbers of field_values(). */
enum { NVML_FIELD_POWER_AVERAGE = 185, NVML_FIELD_POWER_INSTANT = 186 };

enum { NVML_SENSOR_GPU = 0 }; /* of temperature() */
enum { NVML_MIG_ON = 1 };     /* of mig_mode() */

/* Types of a field's value. */
enum {
    NVML_VALUE_DOUBLE = 0,
    NVML_VALUE_UINT = 1,
    NVML_VALUE_ULONG = 2,
    NVML_VALUE_ULLONG = 3,
    NVML_VALUE_LLONG = 4,
    NVML_VALUE_INT = 5,
};

/* Reasons of throttle_reasons(). */
enum {
    NVML_REASON_IDLE = 0x1,
    NVML_REASON_CLOCKS_SETTING = 0x2,
    NVML_REASON_POWER_CAP = 0x4,
    NVML_REASON_HW_SLOWDOWN = 0x8,
    NVML_REASON_SYNC_BOOST = 0x10,
    NVML_REASON_SW_THERMAL = 0x20,
    NVML_REASON_HW_THERMAL = 0x40,
    NVML_REASON_POWER_BRAKE = 0x80,
    NVML_REASON_DISPLAY = 0x100,
};

struct nvml_pci {
    char bus_id_short[16];
    unsigned domain, bus, device;
    unsigned device_id; /* device << 16 | vendor */
    unsigned subsystem_id;
    char bus_id[32];
};

struct nvml_memory {
    unsigned long long total, free, used;
};

struct nvml_utilisation {
    unsigned gpu, memory; /* percent */
};

struct nvml_process {
    unsigned pid;
    unsigned long long used_memory;
    unsigned gpu_instance, compute_instance;
};

struct nvml_process_use {
    unsigned pid;
    unsigned long long at_us;
    unsigned sm, memory, encoder, decoder; /* percent */
};

struct nvml_field {
    unsigned id;
    unsigned scope;
    long long at_us;
    long long latency_us;
    int type; /* NVML_VALUE_... */
    int result;
    union {
        double number;
        unsigned u;
        unsigned long ul;
        unsigned long long ull;
        long long ll;
        int i;
    } value;
};

struct nvml_api {
    int (*init)(void);
    int (*shutdown)(void);
    const char *(*error_string)(int result);
    int (*driver_version)(char *version, unsigned size);
    int (*count)(unsigned *count);
    int (*by_index)(unsigned index, struct nvml_handle **handle);
    int (*uuid)(struct nvml_handle *handle, char *uuid, unsigned size);
    int (*name)(struct nvml_handle *handle, char *name, unsigned size);
    int (*pci)(struct nvml_handle *handle, struct nvml_pci *pci);
    int (*memory)(struct nvml_handle *handle, struct nvml_memory *memory);
    int (*power_usage)(struct nvml_handle *handle, unsigned *milliwatts);
    int (*energy)(struct nvml_handle *handle, unsigned long long *millijoules);
    int (*utilisation)(struct nvml_handle *handle, struct nvml_utilisation *percent);
    int (*temperature)(struct nvml_handle *handle, int sensor, unsigned *celsius);
    int (*throttle_reasons)(struct nvml_handle *handle, unsigned long long *reasons);
    int (*limit)(struct nvml_handle *handle, unsigned *milliwatts);
    int (*limit_default)(struct nvml_handle *handle, unsigned *milliwatts);
    int (*limit_range)(struct nvml_handle *handle, unsigned *min_mw, unsigned *max_mw);
    int (*limit_enforced)(struct nvml_handle *handle, unsigned *milliwatts);
    int (*set_limit)(struct nvml_handle *handle, unsigned milliwatts);
    int (*compute_processes)(struct nvml_handle *handle, unsigned *count,
                             struct nvml_process *processes);
    int (*process_use)(struct nvml_handle *handle, struct nvml_process_use *uses,
                       unsigned *count, unsigned long long after_us);
    int (*field_values)(struct nvml_handle *handle, int count, struct nvml_field *fields);
    int (*architecture)(struct nvml_handle *handle, unsigned *architecture);
    int (*mig_mode)(struct nvml_handle *handle, unsigned *current, unsigned *pending);
    int (*mig_max)(struct nvml_handle *handle, unsigned *count);
    int (*mig_by_index)(struct nvml_handle *handle, unsigned index,
                        struct nvml_handle **mig);
};

/* Load the library and look its functions up; nothing is called yet.  It is never
 * unloaded: drivers leave threads and exit handlers behind. */
enum gpu_status nvml_api_load(struct nvml_api *api, const char *library, struct err *err);

/* The names that are looked up, of each function the newest version first; an entry
 * without a name is behind the last. */
struct nvml_symbol {
    size_t offset; /* in struct nvml_api */
    bool needed;
    const char *names[3];
};
extern const struct nvml_symbol nvml_symbols[];

/* What a result means to our callers, with a sentence: "cannot WHAT: reason". */
enum gpu_status nvml_api_status(const struct nvml_api *api, int result, const char *what,
                                struct err *err);

#endif
