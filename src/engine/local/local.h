/* local.h - the engine that runs jobs on this machine
 *
 * Jobs are real commands, started as the user who submitted them through corgi-probe,
 * which measures them.  Devices are GPUs found by telemetry, and sets of processor cores
 * with a quota.  Everything an engine needs to find its jobs again after a crash is in
 * its state folder and in /proc. */
#ifndef CORGI_ENGINE_LOCAL_LOCAL_H
#define CORGI_ENGINE_LOCAL_LOCAL_H

#include "engine/engine.h"
#include "engine/local/cpus.h"
#include "gpu/gpu_devices.h"

/* Strings are copied.  Zero or NULL takes the default in brackets. */
struct local_engine_options {
    const char *state_dir;        /* made when it is not there; one engine at a time */
    const char *probe;            /* corgi-probe [beside the running program] */
    const char *node;             /* name of the one node [the host's name] */
    double host_watts;            /* of the machine without its devices */
    const struct cpus_spec *cpus; /* (cpu_count) CPU devices */
    int cpu_count;
    bool gpus; /* use the GPUs that telemetry finds */
    struct gpu_options gpu;
    bool caps;                 /* the operator agrees that power limits are set */
    bool no_cgroups;           /* do not use cgroups even where they may be used */
    bool no_memory_cgroups;    /* watch memory instead of limiting it */
    double window_s;           /* of a measurement of a rate [10] */
    double power_every_s;      /* between two power events of a device [5] */
    double output_bytes;       /* kept of a job's output in the state folder [64 MB] */
    const char *search_path;   /* PATH of jobs [the usual] */
    const char *mps_directory; /* of the CUDA MPS pipes and logs; NULL: no MPS */
    int mps_percentage;        /* active threads of a job that shares [100 / jobs] */
};

int local_engine_create(struct engine *engine, const struct local_engine_options *options,
                        struct engine_sink sink, struct err *err);

#endif
