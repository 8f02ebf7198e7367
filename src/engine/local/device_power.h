/* device_power.h - watts and joules of the engine's devices, and whose they are
 *
 * A GPU's come from telemetry.  A CPU device has no meter of its own: where the machine
 * has one for its packages (RAPL), the devices get their parts of it by processor time;
 * elsewhere their data sheet and the time used make a model, and every event says so.
 * A GPU's joules are divided by what changes with its company (booking.h), a CPU
 * device's by the processor time of its jobs. */
#ifndef CORGI_ENGINE_LOCAL_DEVICE_POWER_H
#define CORGI_ENGINE_LOCAL_DEVICE_POWER_H

#include "engine/local/energy_booking.h"
#include "engine/local/gpus.h"

struct device_power;

struct device_power_spec {
    const struct gpu_sheet *sheet; /* borrowed */
    int gpu;                       /* index in gpus; -1: a CPU device */
    double cores;                  /* CPU device: processor seconds a second it gives */
};

/* gpus may be NULL: then nothing is measured.  Borrowed. */
struct device_power *device_power_create(struct gpus *gpus,
                                         const struct device_power_spec *devices,
                                         int count);
void device_power_destroy(struct device_power *power); /* NULL is fine */

/* A job of a CPU device used this much more processor time. */
void device_power_used(struct device_power *power, int device, uint64_t job,
                       double cpu_s);

/* A job is on a device from now on, or no more; on CLOCK_MONOTONIC. */
void device_power_join(struct device_power *power, int device, uint64_t job,
                       double now_s);
void device_power_leave(struct device_power *power, int device, uint64_t job,
                        double now_s);

/* A GPU's meter has told an interval; activity() tells what its jobs used of it. */
void device_power_metered(struct device_power *power, int device,
                          const struct gpu_interval *interval,
                          energy_booking_activity *activity, void *ctx);

/* Close the interval since the last call and tell the sink one event for each device. */
void device_power_tick(struct device_power *power, double now_s,
                       const struct engine_sink *sink);

/* Mean of the last interval; NaN before the first. */
double device_power_watts(const struct device_power *power, int device);

#endif
