/* local_config.h - the part of the daemon's config that is about the local engine
 *
 *     local:
 *       gpus: false
 *       cpus:
 *         - {type: cpu-fast, cores: "0-1", quota: 1}
 *         - {type: cpu-slow, cores: "2", quota: 0.25} */
#ifndef CORGI_ENGINE_LOCAL_LOCAL_CONFIG_H
#define CORGI_ENGINE_LOCAL_LOCAL_CONFIG_H

#include "base/config.h"
#include "engine/local/local.h"

struct local_config {
    char *probe;
    char *node;
    double host_watts;
    bool gpus;
    bool caps;
    bool cgroups;
    bool memory_cgroups;
    double window_s;
    double power_every_s;
    int output_mb;
    char *search_path;
    char *mps_directory;
    int mps_percentage;
    struct config_list cpus; /* of struct cpus_spec */
};

/* For a key of the type CONFIG_GROUP. */
extern const struct config_key local_config_keys[];

/* Borrows from the config.  The engine's state folder is the caller's to choose. */
struct local_engine_options local_config_options(const struct local_config *config,
                                                 const char *state_dir);

#endif
