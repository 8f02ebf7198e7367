/* gpu_sampler.h - all devices read and metered on a thread of its own
 *
 * For a daemon whose one thread must not wait for drivers: the sampler reads every device
 * once a period and keeps a reading a device until it is taken.  A reading that is not
 * taken in time grows: newest sample, energy since the last one taken.  Devices that are
 * lost are looked for again every few seconds, new ones now and then. */
#ifndef CORGI_GPU_GPU_SAMPLER_H
#define CORGI_GPU_GPU_SAMPLER_H

#include "gpu/gpu_devices.h"
#include "gpu/gpu_meter.h"

struct gpu_sampler;

struct gpu_reading {
    int device;
    enum gpu_status status;
    struct err err;           /* when status is not GPU_OK */
    struct gpu_sample sample; /* when it is */
    bool has_interval;        /* energy since the last reading that was taken */
    struct gpu_interval interval;
};

/* gpu is borrowed and may be used by others meanwhile.  ERR_INVALID unless the period is
 * from 10 ms to an hour. */
struct gpu_sampler *gpu_sampler_start(struct gpu *gpu, double period_s, struct err *err);

/* Returns when the thread has ended, after at most one deadline of a call. */
void gpu_sampler_stop(struct gpu_sampler *sampler); /* NULL is fine */

/* Readable when there is something to take; belongs to the sampler. */
int gpu_sampler_fd(const struct gpu_sampler *sampler);

/* The next reading, in turn over the devices; false when there is none.  A device whose
 * status is not GPU_OK is reported when that begins, not again every period. */
bool gpu_sampler_take(struct gpu_sampler *sampler, struct gpu_reading *reading);

#endif
