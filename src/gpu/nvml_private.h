/* nvml_private.h - state that nvml.c and nvml_read.c share; others see gpu_devices.h
 *
 * An entry is a device that was seen once.  Handles are valid only between two inits of
 * the library, so entries are found again by UUID. */
#ifndef CORGI_GPU_NVML_PRIVATE_H
#define CORGI_GPU_NVML_PRIVATE_H

#include "gpu/nvml_api.h"

#include <pthread.h>

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

#endif
