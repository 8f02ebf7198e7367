/* service_config.c - see service_config.h */
#include "service/service_config.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "http/api.h"
#include "loop/loop_settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define AT(member)        offsetof(struct service_config, member)
#define IN(group, member) offsetof(struct service_##group##_config, member)

static const char *const engines[] = {"sim", "local", NULL};
static const char *const roles[] = {"nobody", "viewer", "user", "operator", NULL};
static const char *const levels[] = {"debug", "info", "warn", "error", NULL};
static const char *const formats[] = {"text", "json", NULL};

static int check_mode(const void *value, struct err *err)
{
    const char *text = *(char *const *)value;
    char *end;
    long mode;

    if (!text)
        return 0;
    mode = strtol(text, &end, 8);
    if (*end || end == text || mode < 0 || mode > 0777)
        return err_set(err, ERR_INVALID, "a mode is octal, as 0660, not '%s'", text);
    return 0;
}

/* What the simulator's planners can do, the daemon's cannot. */
static int check_policy(const void *value, struct err *err)
{
    const struct optimize_settings *policy = value;

    if (policy->share_max > API_MAX_SHARE)
        return err_set(
            err, ERR_INVALID,
            "policy.share is %d: the daemon's planner seats one or two jobs on "
            "a GPU, want 1 to %d",
            policy->share_max, API_MAX_SHARE);
    return 0;
}

static const struct config_key listen_keys[] = {
    {.name = "socket",
     .type = CONFIG_STRING,
     .offset = IN(listen, socket),
     .help = "Unix socket; left out $CORGI_SOCKET, else /run/corgi/corgid.sock for "
             "root, else in $XDG_RUNTIME_DIR or /tmp"},
    {.name = "socket_mode",
     .type = CONFIG_STRING,
     .default_text = "0666",
     .check = check_mode,
     .offset = IN(listen, socket_mode),
     .help = "who may connect to it; users are told apart by the kernel"},
    {.name = "socket_group",
     .type = CONFIG_STRING,
     .offset = IN(listen, socket_group),
     .help = "group of the socket's file"},
    {.name = "tcp",
     .type = CONFIG_STRING,
     .offset = IN(listen, tcp),
     .help = "also listen there, as 127.0.0.1:8421; needs tokens"},
    {.name = "certificate",
     .type = CONFIG_STRING,
     .offset = IN(listen, certificate),
     .help = "PEM file of the chain: TLS on TCP"},
    {.name = "key",
     .type = CONFIG_STRING,
     .offset = IN(listen, key),
     .help = "PEM file of the certificate's key"},
    {.name = "anywhere",
     .type = CONFIG_BOOL,
     .default_text = "false",
     .offset = IN(listen, anywhere),
     .help = "allow an address that is not loopback without TLS"},
    {0},
};

static const struct config_key auth_keys[] = {
    {.name = "operators",
     .type = CONFIG_STRINGS,
     .offset = IN(auth, operators),
     .help = "local users with the say over everything, besides root and the daemon's"},
    {.name = "operator_groups",
     .type = CONFIG_STRINGS,
     .offset = IN(auth, operator_groups),
     .help = "and the members of these groups"},
    {.name = "viewers",
     .type = CONFIG_STRINGS,
     .offset = IN(auth, viewers),
     .help = "local users who may only look"},
    {.name = "local_role",
     .type = CONFIG_CHOICE,
     .choices = roles,
     .default_text = "user",
     .offset = IN(auth, local_role),
     .help = "what all other local users are"},
    {.name = "anonymous_role",
     .type = CONFIG_CHOICE,
     .choices = roles,
     .default_text = "nobody",
     .offset = IN(auth, anonymous_role),
     .help = "over TCP without a token"},
    {0},
};

static const struct config_key limit_keys[] = {
    {.name = "body_kb",
     .type = CONFIG_INT,
     .min = 1,
     .max = 65536,
     .default_text = "1024",
     .offset = IN(limit, body_kb),
     .help = "largest body of a request"},
    {.name = "connections",
     .type = CONFIG_INT,
     .min = 1,
     .max = 100000,
     .default_text = "4096",
     .offset = IN(limit, connections),
     .help = "at once"},
    {.name = "streams",
     .type = CONFIG_INT,
     .min = 1,
     .max = 100000,
     .default_text = "2000",
     .offset = IN(limit, streams),
     .help = "clients that follow events at once"},
    {.name = "requests_per_second",
     .type = CONFIG_DOUBLE,
     .min = 0,
     .max = 1e6,
     .default_text = "2000",
     .offset = IN(limit, requests_per_s),
     .help = "of one user in the long run; 0 is no limit"},
    {.name = "burst",
     .type = CONFIG_DOUBLE,
     .min = 0,
     .max = 1e6,
     .default_text = "4000",
     .offset = IN(limit, burst),
     .help = "and at once"},
    {.name = "answer",
     .type = CONFIG_SECONDS,
     .min = 1,
     .max = 600,
     .default_text = "60s",
     .offset = IN(limit, answer_s),
     .help = "an answer that takes longer becomes a 503"},
    {.name = "jobs",
     .type = CONFIG_INT,
     .min = 1,
     .max = 1000000,
     .default_text = "100000",
     .offset = IN(limit, jobs),
     .help = "waiting and running ones of all users"},
    {.name = "classes",
     .type = CONFIG_INT,
     .min = 16,
     .max = 4000,
     .default_text = "2000",
     .offset = IN(limit, classes),
     .help = "kinds of jobs the estimator tells apart; memory grows with the square"},
    {0},
};

static const struct config_key planner_keys[] = {
    {.name = "gap",
     .type = CONFIG_SECONDS,
     .min = 0.01,
     .max = 3600,
     .default_text = "0.25s",
     .offset = IN(planner, gap_s),
     .help = "rounds are at least this far apart, on the wall's clock"},
    {.name = "every",
     .type = CONFIG_SECONDS,
     .min = 0.1,
     .max = 3600,
     .default_text = "10s",
     .offset = IN(planner, every_s),
     .help = "a round this often even when nothing happened"},
    {.name = "most_waiting",
     .type = CONFIG_INT,
     .min = 1,
     .max = 10000,
     .default_text = "128",
     .offset = IN(planner, most_waiting),
     .help = "jobs of the queue a round looks at; the others could not start anyway"},
    {.name = "adapt_every",
     .type = CONFIG_INT,
     .min = 10,
     .max = 100000,
     .default_text = "100",
     .offset = IN(planner, adapt_every),
     .help = "measurements beside others until networks and intervals are adapted"},
    {.name = "checkpoint",
     .type = CONFIG_SECONDS,
     .min = 1,
     .max = 86400,
     .default_text = "2m",
     .offset = IN(planner, checkpoint_s),
     .help = "what was learned is stored this often"},
    {0},
};

static const struct config_key guard_keys[] = {
    {.name = "on",
     .type = CONFIG_BOOL,
     .default_text = "true",
     .offset = IN(guard, on),
     .help = "act when a promise is broken"},
    {.name = "window",
     .type = CONFIG_SECONDS,
     .min = 0,
     .max = 86400,
     .default_text = "2m",
     .offset = IN(guard, window_s),
     .help = "a rate below the promise for longer than this is a broken promise"},
    {.name = "tolerance",
     .type = CONFIG_DOUBLE,
     .min = 0,
     .max = 0.5,
     .default_text = "0.05",
     .offset = IN(guard, tolerance),
     .help = "share a rate may fall short: noise of measuring"},
    {.name = "cooldown",
     .type = CONFIG_SECONDS,
     .min = 0,
     .max = 86400,
     .default_text = "5m",
     .offset = IN(guard, cooldown_s),
     .help = "between two acts for the same job"},
    {0},
};

static const struct config_key quota_keys[] = {
    {.name = "max_jobs",
     .type = CONFIG_INT,
     .min = 0,
     .max = 1000000,
     .default_text = "0",
     .offset = IN(quota, max_jobs),
     .help = "waiting and running jobs of a user; 0 is no limit"},
    {.name = "max_running",
     .type = CONFIG_INT,
     .min = 0,
     .max = 1000000,
     .default_text = "0",
     .offset = IN(quota, max_running),
     .help = "running jobs of a user; 0 is no limit"},
    {.name = "max_gpus",
     .type = CONFIG_INT,
     .min = 0,
     .max = 1000000,
     .default_text = "0",
     .offset = IN(quota, max_gpus),
     .help = "GPUs the running jobs of a user have; 0 is no limit"},
    {0},
};

static const struct config_key keep_keys[] = {
    {.name = "telemetry",
     .type = CONFIG_SECONDS,
     .min = 0,
     .max = 1e9,
     .default_text = "7d",
     .offset = IN(keep, telemetry_s),
     .help = "raw measurements, then folded into hours; 0 is for ever"},
    {.name = "hours",
     .type = CONFIG_SECONDS,
     .min = 0,
     .max = 1e9,
     .default_text = "90d",
     .offset = IN(keep, hours_s),
     .help = "hours of telemetry and energy, then days"},
    {.name = "jobs",
     .type = CONFIG_SECONDS,
     .min = 0,
     .max = 1e9,
     .default_text = "400d",
     .offset = IN(keep, jobs_s),
     .help = "jobs and their history after their end"},
    {.name = "events",
     .type = CONFIG_SECONDS,
     .min = 0,
     .max = 1e9,
     .default_text = "7d",
     .offset = IN(keep, events_s),
     .help = "events for clients that resume"},
    {.name = "audit",
     .type = CONFIG_SECONDS,
     .min = 0,
     .max = 1e9,
     .default_text = "400d",
     .offset = IN(keep, audit_s),
     .help = "the audit log"},
    {0},
};

static const struct config_key sim_keys[] = {
    {.name = "cluster",
     .type = CONFIG_STRING,
     .default_text = "demo",
     .offset = IN(sim, cluster),
     .help = "a built-in cluster: demo, standard, standard-nok80, modern"},
    {.name = "cluster_file",
     .type = CONFIG_STRING,
     .offset = IN(sim, cluster_file),
     .help = "or one of your own, see corgi config show --kind cluster"},
    {.name = "speed",
     .type = CONFIG_DOUBLE,
     .min = 0.1,
     .max = 100000,
     .default_text = "60",
     .offset = IN(sim, speed),
     .help = "simulated seconds in a second"},
    {.name = "measure",
     .type = CONFIG_SECONDS,
     .min = 0,
     .max = 86400,
     .default_text = "0s",
     .offset = IN(sim, measure_s),
     .help = "a job is measured this often, in simulated time; 0 follows the speed"},
    {.name = "power",
     .type = CONFIG_SECONDS,
     .min = 0,
     .max = 86400,
     .default_text = "0s",
     .offset = IN(sim, power_s),
     .help = "energy of devices is told this often; 0 follows the speed"},
    {.name = "restore",
     .type = CONFIG_SECONDS,
     .min = 0,
     .max = 86400,
     .default_text = "45s",
     .offset = IN(sim, restore_s),
     .help = "a restarted job reads its checkpoint this long"},
    {.name = "noise",
     .type = CONFIG_DOUBLE,
     .min = 0,
     .max = 1,
     .default_text = "0.03",
     .offset = IN(sim, noise),
     .help = "of measured rates, as standard deviation of the logarithm"},
    {.name = "seed",
     .type = CONFIG_U64,
     .default_text = "1",
     .offset = IN(sim, seed),
     .help = "of the synthetic world"},
    {0},
};

static const struct config_key log_keys[] = {
    {.name = "level",
     .type = CONFIG_CHOICE,
     .choices = levels,
     .default_text = "info",
     .offset = IN(log, level),
     .help = "the least that is logged"},
    {.name = "format",
     .type = CONFIG_CHOICE,
     .choices = formats,
     .default_text = "text",
     .offset = IN(log, format),
     .help = "key=value lines, or a JSON object a line"},
    {0},
};

const struct config_key service_config_keys[] = {
    {.name = "engine",
     .type = CONFIG_CHOICE,
     .choices = engines,
     .default_text = "sim",
     .offset = AT(engine),
     .help = "what runs jobs: a simulated cluster, or the GPUs of this machine"},
    {.name = "state",
     .type = CONFIG_STRING,
     .offset = AT(state),
     .help = "folder of the store; left out /var/lib/corgi for root, else "
             "~/.local/state/corgi"},
    {.name = "pid_file",
     .type = CONFIG_STRING,
     .offset = AT(pid_file),
     .help = "written when the daemon is ready; left out none"},
    {.name = "nice",
     .type = CONFIG_INT,
     .min = -20,
     .max = 19,
     .default_text = "-10",
     .offset = AT(nice),
     .help = "priority of the daemon on a busy machine, where it has the right to it; "
             "planning and learning are 10, jobs are not concerned"},
    {.name = "listen",
     .type = CONFIG_GROUP,
     .keys = listen_keys,
     .offset = AT(listen),
     .help = "where clients connect"},
    {.name = "auth",
     .type = CONFIG_GROUP,
     .keys = auth_keys,
     .offset = AT(auth),
     .help = "who may do what"},
    {.name = "limits",
     .type = CONFIG_GROUP,
     .keys = limit_keys,
     .offset = AT(limits),
     .help = "on everything that comes from outside"},
    {.name = "policy",
     .type = CONFIG_GROUP,
     .keys = settings_keys,
     .check = check_policy,
     .offset = AT(policy),
     .help = "how the loop decides"},
    {.name = "planner",
     .type = CONFIG_GROUP,
     .keys = planner_keys,
     .offset = AT(planner),
     .help = "when it decides and learns"},
    {.name = "guard",
     .type = CONFIG_GROUP,
     .keys = guard_keys,
     .offset = AT(guard),
     .help = "what happens when a promise is broken"},
    {.name = "quota",
     .type = CONFIG_GROUP,
     .keys = quota_keys,
     .offset = AT(quota),
     .help = "of users without a quota of their own"},
    {.name = "keep",
     .type = CONFIG_GROUP,
     .keys = keep_keys,
     .offset = AT(keep),
     .help = "how long the store remembers"},
    {.name = "sim",
     .type = CONFIG_GROUP,
     .keys = sim_keys,
     .offset = AT(sim),
     .help = "the simulated cluster, with engine: sim"},
    {.name = "local",
     .type = CONFIG_GROUP,
     .keys = local_config_keys,
     .offset = AT(local),
     .help = "the devices of this machine, with engine: local"},
    {.name = "log",
     .type = CONFIG_GROUP,
     .keys = log_keys,
     .offset = AT(log),
     .help = "what goes to standard error"},
    {0},
};

int service_config_load(struct service_config *config, const char *path, struct err *err)
{
    struct service_config read = {0};

    if (path) {
        if (config_read(service_config_keys, &read, sizeof(read), path, err) < 0)
            return -1;
    } else {
        config_defaults(service_config_keys, &read);
    }
    if (!read.listen.certificate != !read.listen.key) {
        service_config_fini(&read);
        return err_set(err, ERR_INVALID,
                       "%s: listen.certificate and listen.key go together", path);
    }
    *config = read;
    return 0;
}

static void replace(char **text, const char *by)
{
    if (!by)
        return;
    free(*text);
    *text = mem_strdup(by);
}

void service_config_override(struct service_config *config, const char *socket,
                             const char *state)
{
    replace(&config->listen.socket, socket);
    replace(&config->state, state);
}

void service_config_fini(struct service_config *config)
{
    config_fini(service_config_keys, config);
}
