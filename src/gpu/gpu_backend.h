/* gpu_backend.h - a device, what it tells, and one way of asking it
 *
 * Drivers answer late, wrongly or never, and devices come and go.  So every call returns
 * a status to act on (errors are values here), and every power figure names the method
 * it comes from.  A modelled figure is always called a model. */
#pragma once

#include "base/err.h"
#include "world/gpu_sheet.h"

#include <stdbool.h>
#include <sys/types.h>

#define GPU_MAX_DEVICES   128 /* of one machine, MIG instances and CPU packages too */
#define GPU_MAX_PROCESSES 64  /* reported of one device */
#define GPU_UUID_SIZE     96
#define GPU_TITLE_SIZE    96

enum gpu_status {
    GPU_OK,
    GPU_UNSUPPORTED, /* the device or its driver cannot say or do this, now or ever */
    GPU_DENIED,      /* it could, but not for this user; the sentence says what to do */
    GPU_LOST,        /* unplugged, fallen off the bus, or its driver is being reloaded */
    GPU_HUNG,        /* the driver does not answer; later calls return at once until it
                        does */
    GPU_FAILED,      /* anything else; the sentence tells */
};

extern const char *const gpu_status_names[];

enum gpu_kind {
    GPU_KIND_GPU,
    GPU_KIND_MIG, /* an instance of a partitioned GPU: jobs go here, power is the
                     parent's */
    GPU_KIND_CPU, /* a processor package */
};

extern const char *const gpu_kind_names[];

/* Where a figure in watts comes from. */
enum gpu_method {
    GPU_METHOD_NONE,    /* there is no figure */
    GPU_METHOD_INSTANT, /* the driver's reading of this moment */
    GPU_METHOD_AVERAGE, /* the driver's mean of about the last second */
    GPU_METHOD_ENERGY,  /* difference of the device's energy counter */
    GPU_METHOD_MODEL,   /* computed from the data sheet and the utilisation: no meter */
};

extern const char *const gpu_method_names[];

struct gpu_device {
    char uuid[GPU_UUID_SIZE];  /* as CUDA_ and ROCR_VISIBLE_DEVICES take it */
    char name[GPU_TITLE_SIZE]; /* as its driver says */
    char pci[24];              /* "0000:3b:00.0"; "": none */
    char driver[64];           /* version; "": not known */
    const char *backend;       /* "nvml", "amd", "rocm", "rapl", "none" */
    enum gpu_kind kind;
    int parent;                    /* MIG: index of the GPU it is a part of; else -1 */
    bool partitioned;              /* a GPU in MIG mode: no jobs of its own */
    const struct gpu_sheet *sheet; /* catalogue; NULL: unknown card */
    double memory_bytes;           /* 0: not known */
    enum gpu_method power_method;  /* of sample.watts */
    bool has_energy;               /* sample.energy_joules counts */
    bool has_limit;                /* a power limit can be read; setting may be denied */
    enum gpu_status status;        /* when it was found */
    char note[200];                /* what is missing and what to do; "": nothing */
};

/* Why the clock is lower than it could be; a set of bits. */
enum gpu_throttle {
    GPU_THROTTLE_IDLE = 1,    /* nothing to do */
    GPU_THROTTLE_POWER = 2,   /* the power limit */
    GPU_THROTTLE_HEAT = 4,    /* temperature */
    GPU_THROTTLE_BRAKE = 8,   /* external power brake or supply */
    GPU_THROTTLE_CLOCKS = 16, /* clocks set by someone, or kept equal in a group */
    GPU_THROTTLE_OTHER = 32,
};

/* The bits as words, "power,heat"; "" for none.  Returns `out`. */
const char *gpu_throttle_text(unsigned throttle, char *out, size_t size);

struct gpu_process {
    pid_t pid;
    double utilisation;  /* 0..1 of the device; NaN: not known */
    double memory_bytes; /* on the device; NaN: not known */
};

/* Unknown figures are NaN.  Sentinels of drivers never show here. */
struct gpu_sample {
    double at_s; /* CLOCK_MONOTONIC, when the figures were read */
    double watts;
    enum gpu_method method;
    double watts_error;   /* one standard error of watts, as far as the method tells */
    double energy_joules; /* running counter: only differences mean something */
    double utilisation;   /* 0..1: share of time with something running */
    double memory_used_bytes;
    double temperature_c;
    double limit_watts; /* power limit in force */
    unsigned throttle;  /* bits of enum gpu_throttle */
    bool throttle_known;
    bool processes_known;
    bool processes_cut; /* there were more than GPU_MAX_PROCESSES */
    int process_count;
    struct gpu_process processes[GPU_MAX_PROCESSES];
};

struct gpu_limit {
    double watts; /* in force */
    double min_watts, max_watts;
    double default_watts; /* of the board; NaN: not known */
};

/* ---- one way of asking: a backend -------------------------------------------------- */

/* Calls for different devices may run at the same time, on threads of the watchdog's; a
 * backend holds no lock while it is inside a driver.  On anything but GPU_OK err has a
 * sentence and outputs are untouched. */
struct gpu_ops {
    const char *name;
    /* Everything there is now.  A device keeps its index for good, one that is gone has
     * status GPU_LOST; new ones are added at the end. */
    enum gpu_status (*list)(void *self, struct gpu_device *devices, int capacity,
                            int *count, struct err *err);
    enum gpu_status (*read)(void *self, int device, struct gpu_sample *sample,
                            struct err *err);
    /* Called for devices that have a limit alone; NULL where none has. */
    enum gpu_status (*limit)(void *self, int device, struct gpu_limit *limit,
                             struct err *err);
    enum gpu_status (*set_limit)(void *self, int device, double watts, struct err *err);
    void (*destroy)(void *self);
};

struct gpu_backend {
    const struct gpu_ops *ops;
    void *self;
};

/* Each fills *backend, or says why not: GPU_UNSUPPORTED when there is nothing of the kind
 * on this machine.  NULL names mean the usual ones. */
enum gpu_status gpu_nvml_open(struct gpu_backend *backend, const char *library,
                              struct err *err);
enum gpu_status gpu_amd_open(struct gpu_backend *backend, const char *sysfs,
                             struct err *err);
enum gpu_status gpu_rocm_open(struct gpu_backend *backend, const char *library,
                              struct err *err);
enum gpu_status gpu_rapl_open(struct gpu_backend *backend, const char *sysfs,
                              struct err *err);
/* The processor as a whole, its power modelled; proc is where stat and cpuinfo are. */
enum gpu_status gpu_cpu_model_open(struct gpu_backend *backend, const char *proc,
                                   struct err *err);

/* A watchdog around a backend.  A driver that hangs takes the thread that called it
 * along.  So a watchdog makes every call on a thread of its own, one at a time for each
 * device (and one for listing), and waits no longer than the deadline: then the answer is
 * GPU_HUNG, and again at once for every later call, until the stuck one returns.  Other
 * devices of the same driver go on meanwhile.
 *
 * The backend is the watchdog's from now on.  Any thread may call the result; destroying
 * it leaves a stuck thread and what it uses behind, to be freed if it ever returns. */
struct gpu_backend gpu_watchdog(struct gpu_backend inner, double deadline_s,
                                double list_deadline_s);

/* The model of a device without a meter: watts of the sheet's card at this utilisation
 * (NaN: half), and its standard error.  docs/telemetry.md tells what it leaves out. */
double gpu_model_watts(const struct gpu_sheet *sheet, double utilisation,
                       double *error_watts);

/* The makers state five percent for a board's sensor; no card draws more than the most,
 * so that a larger figure is no power. */
#define GPU_SENSOR_ERROR 0.05
#define GPU_MOST_WATTS   5000.0

/* A function of a driver's library, which is found at run time: where it goes in a table
 * of functions, and its names, the newest first.  One without a name ends a list. */
struct gpu_symbol {
    size_t offset;
    bool needed;
    const char *names[3];
};

/* Fill the table from a library that dlopen() gave; the name of a function that is needed
 * and is not there, NULL when all are. */
const char *gpu_find_symbols(void *library, const struct gpu_symbol *symbols,
                             void *functions);

/* A sample in which nothing is known. */
void gpu_sample_clear(struct gpu_sample *sample);
