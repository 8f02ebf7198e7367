/* slurm_config.c - the keys of `slurm:` in the daemon's config; service_config.c reads
 * them */
#include "base/mem.h"
#include "base/str.h"
#include "engine/slurm/exporter_scrape.h"
#include "engine/slurm/slurm_answers.h"
#include "engine/slurm/slurm_engine.h"
#include "engine/slurm/slurm_gres.h"

#include <string.h>

#define AT(member) offsetof(struct slurm_config, member)

static const char *const modes[] = {"advise", "control", NULL};

static int check_types(const void *value, struct err *err)
{
    const struct config_list *list = value;

    for (size_t i = 0; i < list->count; i++)
        if (slurm_gres_check_names(((char *const *)list->items)[i], err) < 0)
            return -1;
    return 0;
}

static int check_partitions(const void *value, struct err *err)
{
    const struct config_list *list = value;

    for (size_t i = 0; i < list->count; i++) {
        const char *name = ((char *const *)list->items)[i];

        if (!*name || strlen(name) >= SLURM_NAME_SIZE || strpbrk(name, ", \t\n\"*"))
            return err_set(err, ERR_INVALID, "'%s' is no name of a partition", name);
    }
    return 0;
}

static int check_path(const void *value, struct err *err)
{
    const char *path = *(char *const *)value;

    return !path || path[0] == '/'
               ? 0
               : err_set(err, ERR_INVALID, "it is a whole path, not '%s'", path);
}

static int check_exporter(const void *value, struct err *err)
{
    const char *urls = *(char *const *)value;

    return urls ? exporter_scrape_check(urls, err) : 0;
}

const struct config_key slurm_config_keys[] = {
    CONFIG_ONE_OF(
        "mode", AT(mode), modes, "advise",
        "advise: watch, plan and say what would have been done; change nothing; control: "
        "place and start the jobs of slurm.partitions"),
    {.name = "partitions",
     .type = CONFIG_STRINGS,
     .offset = AT(partitions),
     .check = check_partitions,
     .help = "of control: partitions whose held jobs Corgi places, as the plugin's "
             "Partitions; the first one takes what corgi submit hands in"},
    CONFIG_NUMBER(SECONDS, "start", AT(start_s), 1, 3600, "20s",
                  "of control: a job that was released and has not begun by then is held "
                  "again and waits"),
    CONFIG_KEY(BOOL, "moves", AT(moves), "false",
               "of control: jobs that run may be queued again to start elsewhere, and "
               "stopped for others"),
    CONFIG_KEY(BOOL, "sleep", AT(sleep), "false",
               "of control: idle nodes are put to sleep through Slurm's power saving"),
    CONFIG_KEY(BOOL, "sharing", AT(sharing), "false",
               "of control: GPUs that Slurm has in shards are shared; the plugin needs "
               "Sharing=yes"),
    {.name = "cap_program",
     .type = CONFIG_STRING,
     .offset = AT(cap_program),
     .check = check_path,
     .help = "of control: sets power limits, called with NODE GPU WATTS (0: none); left "
             "out no limits are set"},
    {.name = "probe",
     .type = CONFIG_STRING,
     .offset = AT(probe),
     .check = check_path,
     .help =
         "of control: corgi-probe on the nodes, under which jobs of corgi submit run; "
         "left out they run without"},
    CONFIG_KEY(STRING, "report", AT(report), NULL,
               "of control: where probes find this daemon, as https://corgi:8421"),
    CONFIG_KEY(STRING, "report_ca", AT(report_ca), NULL,
               "of control: on the nodes, whom probes trust; left out the system's"),
    CONFIG_KEY(STRING, "helper", AT(helper), NULL,
               "the program that speaks with Slurm, or unix:PATH of one that systemd "
               "started; left out corgi-engine-slurm beside this program"),
    {.name = "types",
     .type = CONFIG_PAIRS,
     .offset = AT(types),
     .check = check_types,
     .help = "what Slurm's GPU types are in the catalogue, as {tesla: v100, gpu: l4}; "
             "gpu stands for those without a type"},
    CONFIG_NUMBER(SECONDS, "poll", AT(poll_s), 0.05, 600, "2s",
                  "a look at Slurm this often"),
    CONFIG_NUMBER(SECONDS, "within", AT(within_s), 0.1, 120, "10s",
                  "a look that takes longer has failed"),
    {.name = "exporter",
     .type = CONFIG_STRING,
     .offset = AT(exporter),
     .check = check_exporter,
     .help = "pages of DCGM's and node exporters, as http://{node}:9400/metrics, with "
             "commas between: what GPUs and hosts draw; {address} is Slurm's NodeAddr"},
    {0},
};

int slurm_config_check(const struct slurm_config *config, struct err *err)
{
    if (config->mode == SLURM_PLACES && config->partitions.count == 0)
        return err_set(err, ERR_INVALID,
                       "slurm.mode is control, and slurm.partitions names none");
    if (config->report && !config->probe)
        return err_set(err, ERR_INVALID,
                       "slurm.report without slurm.probe: who is to report there?");
    return 0;
}

char *slurm_config_partitions(const struct slurm_config *config)
{
    struct str names = {0};

    for (size_t i = 0; i < config->partitions.count; i++)
        str_addf(&names, "%s%s", i ? "," : "",
                 ((char *const *)config->partitions.items)[i]);
    return names.text ? str_take(&names) : NULL;
}

char *slurm_config_types(const struct slurm_config *config)
{
    struct str names = {0};

    for (size_t i = 0; i < config->types.count; i++)
        str_addf(&names, "%s%s", i ? "," : "", ((char *const *)config->types.items)[i]);
    return names.text ? str_take(&names) : NULL;
}
