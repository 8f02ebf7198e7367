/* local_config.c - the keys of the config's `local:`, see local_config.h
 *
 * The daemon's config reads them and makes the engine's options of them. */
#include "engine/local/local_config.h"

#define CPU_AT(field) offsetof(struct cpus_spec, field)
#define AT(field)     offsetof(struct local_config, field)

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
    {.name = "memory_gb",
     .type = CONFIG_DOUBLE,
     .min = 0,
     .max = 100000,
     .default_text = "0",
     .offset = CPU_AT(memory_gb),
     .help = "limit on the memory of its jobs together; 0: none"},
    {.name = "core_watts",
     .type = CONFIG_WATTS,
     .min = 0,
     .max = 1000,
     .default_text = "0W",
     .offset = CPU_AT(core_watts),
     .help = "draw of a busy core beyond idle, for the model; 0: a guess"},
    {.name = "idle_watts",
     .type = CONFIG_WATTS,
     .min = 0,
     .max = 1000,
     .default_text = "0W",
     .offset = CPU_AT(idle_watts),
     .help = "draw of an idle core, for the model; 0: a guess"},
    {0},
};

const struct config_key local_config_keys[] = {
    {.name = "probe",
     .type = CONFIG_STRING,
     .offset = AT(probe),
     .help = "corgi-probe, when it is not beside the daemon"},
    {.name = "node",
     .type = CONFIG_STRING,
     .offset = AT(node),
     .help = "name of this machine, when not its host name"},
    {.name = "host",
     .type = CONFIG_WATTS,
     .min = 0,
     .max = 20000,
     .default_text = "0W",
     .offset = AT(host_watts),
     .help = "draw of the machine without its devices"},
    {.name = "gpus",
     .type = CONFIG_BOOL,
     .default_text = "true",
     .offset = AT(gpus),
     .help = "use the GPUs that are found"},
    {.name = "caps",
     .type = CONFIG_BOOL,
     .default_text = "false",
     .offset = AT(caps),
     .help = "allow that power limits of devices are changed"},
    {.name = "cgroups",
     .type = CONFIG_BOOL,
     .default_text = "true",
     .offset = AT(cgroups),
     .help = "use cgroups where they may be used; else signals"},
    {.name = "memory_cgroups",
     .type = CONFIG_BOOL,
     .default_text = "true",
     .offset = AT(memory_cgroups),
     .help = "limit the memory of CPU devices by cgroups too; else it is watched"},
    {.name = "window",
     .type = CONFIG_SECONDS,
     .min = 1,
     .max = 3600,
     .default_text = "10s",
     .offset = AT(window_s),
     .help = "a rate is measured over this long"},
    {.name = "power_every",
     .type = CONFIG_SECONDS,
     .min = 1,
     .max = 3600,
     .default_text = "5s",
     .offset = AT(power_every_s),
     .help = "time between two readings of power"},
    {.name = "output_mb",
     .type = CONFIG_INT,
     .min = 1,
     .max = 100000,
     .default_text = "64",
     .offset = AT(output_mb),
     .help = "kept of a job's output in the state folder, in megabytes"},
    {.name = "path",
     .type = CONFIG_STRING,
     .offset = AT(search_path),
     .help = "PATH of jobs, when not the usual one"},
    {.name = "mps",
     .type = CONFIG_STRING,
     .offset = AT(mps_directory),
     .help = "folder of the CUDA MPS daemon's pipe and log folders, where it runs"},
    {.name = "mps_percentage",
     .type = CONFIG_INT,
     .min = 0,
     .max = 100,
     .default_text = "0",
     .offset = AT(mps_percentage),
     .help = "threads of a GPU for a job that shares it; 0: equal parts"},
    {.name = "cpus",
     .type = CONFIG_LIST,
     .max = CPUS_MAX_DEVICES,
     .keys = cpu_keys,
     .item_size = sizeof(struct cpus_spec),
     .offset = AT(cpus),
     .help = "devices that are sets of processor cores"},
    {0},
};

struct local_engine_options local_config_options(const struct local_config *config,
                                                 const char *state_dir)
{
    return (struct local_engine_options){
        .state_dir = state_dir,
        .probe = config->probe,
        .node = config->node,
        .host_watts = config->host_watts,
        .cpus = config->cpus.items,
        .cpu_count = (int)config->cpus.count,
        .gpus = config->gpus,
        .caps = config->caps,
        .no_cgroups = !config->cgroups,
        .no_memory_cgroups = !config->memory_cgroups,
        .window_s = config->window_s,
        .power_every_s = config->power_every_s,
        .output_bytes = config->output_mb * 1e6,
        .search_path = config->search_path,
        .mps_directory = config->mps_directory,
        .mps_percentage = config->mps_percentage,
    };
}
