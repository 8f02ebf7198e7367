/* power.h - watts and joules of the engine's devices
 *
 * A GPU's come from telemetry.  A CPU device has no meter of its own: where the machine
 * has one for its packages (RAPL), the devices get their parts of it by processor time;
 * elsewhere their data sheet and the time used make a model, and every event says so. */
#ifndef CORGI_ENGINE_LOCAL_POWER_H
#define CORGI_ENGINE_LOCAL_POWER_H

#include "engine/local/outbox.h"
#include "engine/local/gpus.h"

struct power;

struct power_device {
    const struct gpu_sheet *sheet; /* borrowed */
    int gpu;                       /* index in gpus; -1: a CPU device */
    double cores;                  /* CPU device: processor seconds a second it gives */
};

/* gpus may be NULL: then nothing is measured.  Borrowed. */
struct power *power_create(struct gpus *gpus, const struct power_device *devices,
                           int count);
void power_destroy(struct power *power); /* NULL is fine */

/* A CPU device's jobs used this much more processor time. */
void power_used(struct power *power, int device, double cpu_s);

/* Close the interval since the last call and tell one event a device. */
void power_tick(struct power *power, double now_s, struct outbox *outbox);

/* Mean of the last interval; NaN before the first. */
double power_watts(const struct power *power, int device);

#endif
