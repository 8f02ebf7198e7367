/* gpus.h - the GPUs of this machine as the engine uses them
 *
 * Telemetry runs on a thread of its own, since drivers hang.  The figures here are
 * those it saw last. */
#ifndef CORGI_ENGINE_LOCAL_GPUS_H
#define CORGI_ENGINE_LOCAL_GPUS_H

#include "base/err.h"
#include "gpu/gpu_devices.h"
#include "gpu/gpu_sampler.h"

struct gpus;

struct gpus_options {
    const struct gpu_options *gpu;
    const char *caps_file; /* where original power limits are kept */
    bool caps;             /* the operator agrees that they are changed */
    bool devices;          /* GPUs are wanted for jobs; else only the package's meter */
};

struct gpus *gpus_open(const struct gpus_options *options, struct err *err);
void gpus_close(struct gpus *gpus); /* NULL is fine; power limits are put back */

/* Devices jobs can run on: whole GPUs that are not partitioned, and MIG instances. */
int gpus_count(const struct gpus *gpus);
const char *gpus_uuid(const struct gpus *gpus, int gpu);
bool gpus_is_part(const struct gpus *gpus, int gpu); /* a MIG instance: has no meter */
const struct gpu_sheet *gpus_sheet(const struct gpus *gpus, int gpu);

/* Energy since the last call.  False when nothing is known of it. */
struct gpus_energy {
    double joules;
    double seconds; /* the joules are of */
    bool modelled;
};
bool gpus_energy(struct gpus *gpus, int gpu, struct gpus_energy *energy);

/* The same of all processor packages together; false where there is no meter (RAPL). */
bool gpus_package_energy(struct gpus *gpus, struct gpus_energy *energy);

/* Is the device there and does its driver answer?  *text says what is wrong; borrowed. */
bool gpus_present(const struct gpus *gpus, int gpu, const char **text);

/* Readable when the thread has seen something: gpus_pump() takes it, and tells each
 * interval of a whole GPU; an instance has no meter. */
int gpus_fd(const struct gpus *gpus);
typedef void gpus_interval(void *ctx, int gpu, const struct gpu_reading *reading);
void gpus_pump(struct gpus *gpus, gpus_interval *interval, void *ctx);

int gpus_cap(struct gpus *gpus, int gpu, double watts, struct err *err);

#endif
