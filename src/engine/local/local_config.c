/* local_config.c - the keys of the config's `local:`
 *
 * The daemon's config reads them into the options of the engine (local.h). */
#include "engine/local/local.h"

#define CPU_AT(field) offsetof(struct cpus_spec, field)
#define AT(field)     offsetof(struct local_engine_options, field)

static int check_cores(const void *value, struct err *err)
{
    const char *text = *(char *const *)value;
    cpu_set_t cores;

    if (cpus_parse_cores(text, &cores))
        return 0;
    return err_set(err, ERR_INVALID, "cores is '%.40s', want a list as in 0-3,8", text);
}

static int check_quota(const void *value, struct err *err)
{
    double quota = *(const double *)value;

    if (quota > 0 && quota <= 1)
        return 0;
    return err_set(err, ERR_INVALID,
                   "quota is %g, want a share of the cores: more than 0, at most 1",
                   quota);
}

static const struct config_key cpu_keys[] = {
    {.name = "type",
     .type = CONFIG_STRING,
     .required = true,
     .default_text = "cpu",
     .offset = CPU_AT(type),
     .help = "name of the device type; equal ones must be equal but for their cores"},
    {.name = "cores",
     .type = CONFIG_STRING,
     .required = true,
     .default_text = "0",
     .offset = CPU_AT(cores),
     .check = check_cores,
     .help = "the processor cores it has, as in 0-3,8"},
    {.name = "quota",
     .type = CONFIG_DOUBLE,
     .min = 0,
     .max = 1,
     .default_text = "1",
     .offset = CPU_AT(quota),
     .check = check_quota,
     .help = "share of these cores' time"},
    CONFIG_NUMBER(DOUBLE, "memory_gb", CPU_AT(memory_gb), 0, 100000, "0",
                  "limit on the memory of its jobs together; 0: none"),
    CONFIG_NUMBER(WATTS, "core_watts", CPU_AT(core_watts), 0, 1000, "0W",
                  "draw of a busy core beyond idle, for the model; 0: a guess"),
    CONFIG_NUMBER(WATTS, "idle_watts", CPU_AT(idle_watts), 0, 1000, "0W",
                  "draw of an idle core, for the model; 0: a guess"),
    {0},
};

const struct config_key local_config_keys[] = {
    CONFIG_KEY(STRING, "probe", AT(probe), NULL,
               "corgi-probe, when it is not beside the daemon"),
    CONFIG_KEY(STRING, "node", AT(node), NULL,
               "name of this machine, when not its host name"),
    CONFIG_NUMBER(WATTS, "host", AT(host_watts), 0, 20000, "0W",
                  "draw of the machine without its devices"),
    CONFIG_KEY(BOOL, "gpus", AT(gpus), "true", "use the GPUs that are found"),
    CONFIG_KEY(BOOL, "caps", AT(caps), "false",
               "allow that power limits of devices are changed"),
    CONFIG_KEY(BOOL, "cgroups", AT(cgroups), "true",
               "use cgroups where they may be used; else signals"),
    CONFIG_KEY(BOOL, "memory_cgroups", AT(memory_cgroups), "true",
               "limit the memory of CPU devices by cgroups too; else it is watched"),
    CONFIG_NUMBER(INT, "tasks", AT(tasks), 0, 4000000, "16384",
                  "processes and threads a job may have, where cgroups can; 0: no limit"),
    CONFIG_NUMBER(SECONDS, "window", AT(window_s), 1, 3600, "10s",
                  "a rate is measured over this long"),
    CONFIG_NUMBER(SECONDS, "power_every", AT(power_every_s), 1, 3600, "5s",
                  "time between two readings of power"),
    CONFIG_NUMBER(INT, "output_mb", AT(output_mb), 1, 100000, "64",
                  "kept of a job's output in the state folder, in megabytes"),
    CONFIG_KEY(STRING, "path", AT(search_path), NULL,
               "PATH of jobs, when not the usual one"),
    CONFIG_KEY(STRING, "mps", AT(mps_directory), NULL,
               "folder of the CUDA MPS daemon's pipe and log folders, where it runs"),
    CONFIG_NUMBER(INT, "mps_percentage", AT(mps_percentage), 0, 100, "0",
                  "threads of a GPU for a job that shares it; 0: equal parts"),
    {.name = "cpus",
     .type = CONFIG_LIST,
     .max = CPUS_MAX_DEVICES,
     .keys = cpu_keys,
     .item_size = sizeof(struct cpus_spec),
     .offset = AT(cpus),
     .help = "devices that are sets of processor cores"},
    {0},
};
