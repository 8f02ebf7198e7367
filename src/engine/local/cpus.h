/* cpus.h - sets of processor cores as devices
 *
 * A CPU device is a set of cores and a share of their time.  Devices of one type differ
 * only in which cores they have.  Each type gets a data sheet, scaled from cores, clock
 * and share, so that the estimator can tell a fast type from a slow one before anything
 * has run on it. */
#pragma once

#include "base/err.h"
#include "world/gpu_sheet.h"

#include <sched.h>

#define CPUS_MAX_DEVICES 256

/* As in the config, which has checked the figures.  Zero means: from the machine. */
struct cpus_spec {
    const char *type;  /* "cpu-fast"; devices of a name must be equal but for the cores */
    const char *cores; /* "0", "0-3,8" */
    double quota;      /* share of these cores' time, in (0, 1] */
    double memory_gb;  /* limit on the memory of its jobs together; 0: none */
    double core_watts; /* draw of one of its cores, busy, beyond idle; 0: a guess */
    double idle_watts; /* of one core; 0: a guess */
};

struct cpus_device {
    char type[GPU_NAME_SIZE];
    cpu_set_t cores;
    int core_count;
    double quota;
    double memory_bytes; /* 0: no limit */
    struct gpu_sheet sheet;
};

/* ERR_INVALID names the device and what is wrong with it, or the core it has not. */
int cpus_device_init(struct cpus_device *device, const struct cpus_spec *spec,
                     struct err *err);

/* Do two devices of the same type have the same sheet? */
int cpus_same_type(const struct cpus_device *one, const struct cpus_device *other,
                   struct err *err);

/* "0-3,8" to a set; false when it is no such list or names no core. */
bool cpus_parse_cores(const char *text, cpu_set_t *cores);

/* What the whole machine has. */
double cpus_machine_cores(void);
double cpus_machine_memory_gb(void);

/* Processor seconds per second the device gives. */
double cpus_cores(const struct cpus_device *device);
