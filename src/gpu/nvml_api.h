/* nvml_api.h - the part of NVIDIA's management library we call, found at run time
 *
 * There is no header package to rely on, so the declarations are ours, written from the
 * library's documentation; they hold for every driver since 2016, what is newer may be
 * missing and is NULL then.  Only nvml*.c include this. */
#pragma once

#include "base/err.h"
#include "gpu/gpu_backend.h"

#include <pthread.h>
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

extern const struct gpu_symbol nvml_symbols[];

/* ---- what nvml.c and nvml_read.c share --------------------------------------------- */

/* What a result means to our callers, with a sentence: "cannot WHAT: reason". */
enum gpu_status nvml_status(const struct nvml_api *api, int result, const char *what,
                            struct err *err);

/* An entry is a device that was seen once.  Handles are valid only between two inits of
 * the library, so entries are found again by UUID. */
struct nvml_entry {
    struct nvml_handle *handle; /* NULL: lost */
    bool seen;                  /* by the listing under way */
    bool averages;              /* power_usage() is a mean of a second */
    struct gpu_device device;
    unsigned long long used_us; /* newest process sample; only its reader's */
};

struct nvml {
    struct nvml_api api;
    pthread_mutex_t mutex; /* guards what is below; never held inside the driver */
    bool running;          /* init was done */
    bool restart;          /* something was lost: shut down and init again */
    int count;
    struct nvml_entry entries[GPU_MAX_DEVICES];
};

/* The handle to ask for a device; GPU_LOST with a sentence while there is no handle. */
enum gpu_status nvml_entry_handle(struct nvml *nvml, int device,
                                  struct nvml_handle **handle, struct err *err);
/* Remember a loss for the next listing. */
void nvml_entry_lost(struct nvml *nvml, int device);

enum gpu_status nvml_read(void *self, int device, struct gpu_sample *sample,
                          struct err *err);

/* Milliwatts to watts; NaN for the sentinels drivers put there instead of an error. */
double nvml_watts(unsigned milliwatts);

/* Watts by the best field this device has, and which that is; NaN and NONE: nothing. */
double nvml_power(const struct nvml_api *api, struct nvml_handle *handle, bool averages,
                  enum gpu_method *method);
