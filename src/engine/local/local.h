/* local.h - the engine that runs jobs on this machine
 *
 * Jobs are real commands, started as the user who submitted them through corgi-probe,
 * which measures them.  Devices are GPUs found by telemetry, and sets of processor cores
 * with a quota.  Everything an engine needs to find its jobs again after a crash is in
 * its state folder and in /proc.  In the daemon's config:
 *
 *     local:
 *       gpus: false
 *       cpus:
 *         - {type: cpu-fast, cores: "0-1", quota: 1}
 *         - {type: cpu-slow, cores: "2", quota: 0.25} */
#pragma once

#include "base/config.h"
#include "engine/engine.h"
#include "engine/local/cpus.h"
#include "gpu/gpu_devices.h"

/* Read by local_config_keys, but for the state folder and how GPUs are found.  Strings
 * and lists are borrowed as long as the engine lives. */
struct local_engine_options {
    const char *state_dir; /* made when it is not there; one engine at a time */
    struct gpu_options gpu;
    const char *probe;         /* corgi-probe; NULL: beside the running program */
    const char *node;          /* name of the one node; NULL: the host's name */
    double host_watts;         /* of the machine without its devices */
    struct config_list cpus;   /* of struct cpus_spec: the CPU devices */
    bool gpus;                 /* use the GPUs that telemetry finds */
    bool caps;                 /* the operator agrees that power limits are set */
    bool cgroups;              /* use cgroups where they may be used */
    bool memory_cgroups;       /* limit memory by them; else it is watched */
    double window_s;           /* of a measurement of a rate */
    double power_every_s;      /* between two power events of a device */
    int tasks;                 /* processes and threads a job may have; 0: no limit */
    int output_mb;             /* kept of a job's output in the state folder */
    const char *search_path;   /* PATH of jobs; NULL: the usual */
    const char *mps_directory; /* of the CUDA MPS pipes and logs; NULL: no MPS */
    int mps_percentage;        /* active threads of a job that shares; 0: 100 / jobs */
};

/* For a key of the type CONFIG_GROUP. */
extern const struct config_key local_config_keys[];

int local_engine_create(struct engine *engine, const struct local_engine_options *options,
                        struct engine_sink sink, struct err *err);
