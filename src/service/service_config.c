/* service_config.c - see service_config.h
 *
 * main.c of corgid loads the file, service.c keeps it and takes what has changed at
 * SIGHUP, `corgi config` checks and documents it from the same table. */
#include "service/service_config.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "http/api.h"
#include "loop/loop_settings.h"
#include "model/network_choice.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define AT(member)        offsetof(struct service_config, member)
#define IN(group, member) offsetof(struct service_##group##_config, member)
#define KEEP(member)      offsetof(struct store_retention, member)

/* As in enum sim_clock. */
static const char *const sim_clocks[] = {"wall", "stepped", NULL};
const char *const service_engine_names[] = {"sim", "local", "slurm", NULL};
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

static const struct config_key listen_keys[] = {
    CONFIG_KEY(STRING, "socket", IN(listen, socket), NULL,
               "Unix socket; left out $CORGI_SOCKET, else /run/corgi/corgid.sock for "
               "root, else in $XDG_RUNTIME_DIR or /tmp"),
    {.name = "socket_mode",
     .type = CONFIG_STRING,
     .default_text = "0666",
     .check = check_mode,
     .offset = IN(listen, socket_mode),
     .help = "who may connect to it; users are told apart by the kernel"},
    CONFIG_KEY(STRING, "socket_group", IN(listen, socket_group), NULL,
               "group of the socket's file"),
    CONFIG_KEY(STRING, "tcp", IN(listen, tcp), NULL,
               "also listen there, as 127.0.0.1:8421; needs tokens"),
    CONFIG_KEY(STRING, "certificate", IN(listen, certificate), NULL,
               "PEM file of the chain: TLS on TCP"),
    CONFIG_KEY(STRING, "key", IN(listen, key), NULL, "PEM file of the certificate's key"),
    CONFIG_KEY(BOOL, "anywhere", IN(listen, anywhere), "false",
               "allow an address that is not loopback without TLS"),
    {0},
};

static const struct config_key auth_keys[] = {
    CONFIG_KEY(STRINGS, "operators", IN(auth, operators), NULL,
               "local users with the say over everything, besides root and the daemon's"),
    CONFIG_KEY(STRINGS, "operator_groups", IN(auth, operator_groups), NULL,
               "and the members of these groups"),
    CONFIG_KEY(STRINGS, "viewers", IN(auth, viewers), NULL,
               "local users who may only look"),
    CONFIG_ONE_OF("local_role", IN(auth, local_role), roles, "user",
                  "what all other local users are"),
    CONFIG_ONE_OF("anonymous_role", IN(auth, anonymous_role), roles, "nobody",
                  "over TCP without a token"),
    {0},
};

static const struct config_key limit_keys[] = {
    CONFIG_NUMBER(INT, "body_kb", IN(limit, body_kb), 1, 65536, "1024",
                  "largest body of a request"),
    CONFIG_NUMBER(INT, "connections", IN(limit, connections), 1, 100000, "4096",
                  "at once"),
    CONFIG_NUMBER(INT, "connections_each", IN(limit, connections_each), 1, 100000, "512",
                  "of one local user, or over TCP of one address, at once; operators "
                  "have no such limit"),
    CONFIG_NUMBER(INT, "streams", IN(limit, streams), 1, 100000, "2000",
                  "clients that follow events at once"),
    CONFIG_NUMBER(DOUBLE, "requests_per_second", IN(limit, requests_per_s), 0, 1e6,
                  "2000", "of one user in the long run; 0 is no limit"),
    CONFIG_NUMBER(DOUBLE, "burst", IN(limit, burst), 0, 1e6, "4000", "and at once"),
    CONFIG_NUMBER(DOUBLE, "kb_per_second", IN(limit, kb_per_s), 0, 1e6, "1024",
                  "of bodies of one user in the long run, four times that at once; 0 is "
                  "no limit"),
    CONFIG_NUMBER(SECONDS, "answer", IN(limit, answer_s), 1, 600, "60s",
                  "an answer that takes longer becomes a 503"),
    CONFIG_NUMBER(INT, "jobs", IN(limit, jobs), 1, 1000000, "100000",
                  "waiting and running ones of all users"),
    CONFIG_NUMBER(
        INT, "classes", IN(limit, classes), 16, 4000, "2000",
        "kinds of jobs the estimator tells apart; memory grows with the square"),
    CONFIG_NUMBER(INT, "priority", IN(limit, priority), -API_MAX_PRIORITY,
                  API_MAX_PRIORITY, "0",
                  "largest a user may give a job; operators may give any"),
    CONFIG_NUMBER(SECONDS, "stop_grace", IN(limit, stop_grace_s), 0, API_MAX_GRACE_S,
                  "300s",
                  "longest a job may take to end after it was told to, its device is "
                  "taken until then"),
    {0},
};

static const struct config_key planner_keys[] = {
    CONFIG_NUMBER(SECONDS, "gap", IN(planner, gap_s), 0.01, 3600, "0.25s",
                  "rounds are at least this far apart, on the wall's clock"),
    CONFIG_NUMBER(SECONDS, "every", IN(planner, every_s), 0.1, 3600, "10s",
                  "a round this often even when nothing happened"),
    CONFIG_NUMBER(
        INT, "most_waiting", IN(planner, most_waiting), 1, 10000, "128",
        "jobs of the queue a round looks at; the others could not start anyway"),
    CONFIG_NUMBER(SECONDS, "checkpoint", IN(planner, checkpoint_s), 1, 86400, "2m",
                  "what was learned is stored this often"),
    {0},
};

static const struct config_key learning_keys[] = {
    CONFIG_KEY(
        BOOL, "share_between_users", IN(learning, share_between_users), "true",
        "what a user's jobs measured informs other users' jobs of the same family, "
        "as far as their measurements agree"),
    CONFIG_ONE_OF("model", IN(learning, model), network_choice_names, "auto",
                  "architecture of P1 and P2, the networks behind estimates; auto: the "
                  "best on tables kept aside; what a network of another one learned is "
                  "not carried over"),
    {0},
};

static const struct config_key guard_keys[] = {
    CONFIG_NUMBER(DOUBLE, "tolerance", IN(guard, tolerance), 0, 0.5, "0.05",
                  "share a rate may fall short before a promise counts as broken: noise "
                  "of measuring"),
    {0},
};

static const struct config_key quota_keys[] = {
    CONFIG_NUMBER(INT, "max_jobs", IN(quota, max_jobs), 0, 1000000, "0",
                  "waiting and running jobs of a user; 0 is no limit"),
    CONFIG_NUMBER(INT, "max_running", IN(quota, max_running), 0, 1000000, "0",
                  "running jobs of a user; 0 is no limit"),
    CONFIG_NUMBER(INT, "max_gpus", IN(quota, max_gpus), 0, 1000000, "0",
                  "GPUs the running jobs of a user have; 0 is no limit"),
    {0},
};

#define LIMIT(key, member, what)                                                         \
    CONFIG_NUMBER(INT, key, IN(quota_entry, member), -1, 1000000, "-1", what)

/* Of what Slurm says of a job. */
#define GROUP(of, kind, what)                                                            \
    CONFIG_KEY(STRING, #kind, IN(of, groups) + JOB_GROUP_##kind * sizeof(char *), NULL,  \
               what)
#define JOB_GROUP_account   JOB_GROUP_ACCOUNT
#define JOB_GROUP_qos       JOB_GROUP_QOS
#define JOB_GROUP_partition JOB_GROUP_PARTITION

static const struct config_key quota_entry_keys[] = {
    CONFIG_KEY(STRING, "user", IN(quota_entry, user), NULL,
               "whose it is, instead of what quota says"),
    GROUP(quota_entry, account, "or that of the jobs of this account in Slurm"),
    GROUP(quota_entry, qos, "or of this QOS"),
    GROUP(quota_entry, partition, "or of this partition"),
    LIMIT("max_jobs", max_jobs, "waiting and running jobs; -1 is no limit"),
    LIMIT("max_running", max_running, "running jobs; -1 is no limit"),
    LIMIT("max_gpus", max_gpus, "GPUs the running jobs have; -1 is no limit"),
    {.name = "line", .type = CONFIG_LINE, .offset = IN(quota_entry, line)},
    {0},
};

static const struct config_key share_keys[] = {
    GROUP(share, account,
          "the users named share this part, and all jobs of this account in Slurm; left "
          "out each user has a part of this weight, in their account if they have one"),
    GROUP(share, qos, "or: all jobs of this QOS in Slurm share this part"),
    GROUP(share, partition, "or those of this partition"),
    CONFIG_NUMBER(DOUBLE, "weight", IN(share, weight), 0.001, 1e6, "1",
                  "of the account or user against others"),
    CONFIG_KEY(STRINGS, "users", IN(share, users), NULL, "their names"),
    {.name = "line", .type = CONFIG_LINE, .offset = IN(share, line)},
    {0},
};

static const struct config_key keep_keys[] = {
    CONFIG_NUMBER(SECONDS, "telemetry", KEEP(telemetry_s), 0, 1e9, "7d",
                  "raw measurements, then folded into hours; 0 is for ever"),
    CONFIG_NUMBER(SECONDS, "hours", KEEP(hours_s), 0, 1e9, "90d",
                  "hours of telemetry and energy, then days"),
    CONFIG_NUMBER(SECONDS, "jobs", KEEP(jobs_s), 0, 1e9, "400d",
                  "jobs and their history after their end"),
    CONFIG_NUMBER(SECONDS, "events", KEEP(events_s), 0, 1e9, "7d",
                  "events for clients that resume"),
    CONFIG_NUMBER(SECONDS, "audit", KEEP(audit_s), 0, 1e9, "400d", "the audit log"),
    {0},
};

static const struct config_key energy_keys[] = {
    CONFIG_NUMBER(DOUBLE, "price_per_kwh", IN(energy, price_per_kwh), 0, 1e6, "0",
                  "of electricity, to tell energy in money too; 0: do not"),
    CONFIG_KEY(STRING, "currency", IN(energy, currency), "EUR", "of that price"),
    CONFIG_NUMBER(DOUBLE, "co2_g_per_kwh", IN(energy, co2_g_per_kwh), 0, 1e5, "0",
                  "of electricity, to tell energy in CO2 too; 0: do not"),
    {0},
};

static const struct config_key sim_keys[] = {
    CONFIG_KEY(STRING, "cluster", IN(sim, cluster), "demo",
               "a built-in cluster: demo, standard, standard-nok80, modern"),
    CONFIG_KEY(STRING, "cluster_file", IN(sim, cluster_file), NULL,
               "or one of your own, see corgi config show --kind cluster"),
    CONFIG_NUMBER(DOUBLE, "speed", IN(sim, speed), 0.1, 100000, "60",
                  "simulated seconds in a second"),
    CONFIG_NUMBER(SECONDS, "measure", IN(sim, measure_s), 0, 86400, "0s",
                  "a job is measured this often, in simulated time; 0 follows the speed"),
    CONFIG_NUMBER(SECONDS, "power", IN(sim, power_s), 0, 86400, "0s",
                  "energy of devices is told this often; 0 follows the speed"),
    CONFIG_NUMBER(SECONDS, "restore", IN(sim, restore_s), 0, 86400, "45s",
                  "a restarted job reads its checkpoint this long"),
    CONFIG_KEY(
        BOOL, "queue", IN(sim, queue), "false",
        "it has a queue of its own, as Slurm has: jobs are handed in when they are "
        "admitted"),
    CONFIG_NUMBER(SECONDS, "sleep", IN(sim, sleep_s), 0, 86400, "0s",
                  "a node takes so long to fall asleep"),
    CONFIG_NUMBER(DOUBLE, "noise", IN(sim, noise), 0, 1, "0.03",
                  "of measured rates, as standard deviation of the logarithm"),
    CONFIG_KEY(U64, "seed", IN(sim, seed), "1", "of the synthetic world"),
    CONFIG_ONE_OF("clock", IN(sim, clock), sim_clocks, "wall",
                  "wall: goes by itself; stepped: as far as POST /v1/sim/advance says"),
    CONFIG_NUMBER(DOUBLE, "start", IN(sim, start_s), 0, 1e11, "0",
                  "seconds since 1970 when a new world begins; 0 is now"),
    {0},
};

static const struct config_key log_keys[] = {
    CONFIG_ONE_OF("level", IN(log, level), levels, "info", "the least that is logged"),
    CONFIG_ONE_OF("format", IN(log, format), formats, "text",
                  "key=value lines, or a JSON object a line"),
    {0},
};

const struct config_key service_config_keys[] = {
    CONFIG_ONE_OF("engine", AT(engine), service_engine_names, "sim",
                  "what runs jobs: a simulated cluster, the GPUs of this machine, or "
                  "Slurm's machines"),
    CONFIG_KEY(STRING, "state", AT(state), NULL,
               "folder of the store; left out /var/lib/corgi for root, else "
               "~/.local/state/corgi"),
    CONFIG_KEY(STRING, "pid_file", AT(pid_file), NULL,
               "written when the daemon is ready; left out none"),
    CONFIG_NUMBER(INT, "nice", AT(nice), -20, 19, "-10",
                  "priority of the daemon on a busy machine, where it has the right to "
                  "it; planning and learning are 10, jobs are not concerned"),
    CONFIG_NESTED("listen", AT(listen), listen_keys, "where clients connect"),
    CONFIG_NESTED("auth", AT(auth), auth_keys, "who may do what"),
    CONFIG_NESTED("limits", AT(limits), limit_keys,
                  "on everything that comes from outside"),
    {.name = "policy",
     .type = CONFIG_GROUP,
     .keys = settings_keys,
     .offset = AT(policy),
     .help = "how the loop decides"},
    CONFIG_NESTED("planner", AT(planner), planner_keys, "when it decides and learns"),
    CONFIG_NESTED("learning", AT(learning), learning_keys, "what is learned of whom"),
    CONFIG_NESTED("guard", AT(guard), guard_keys,
                  "what happens when a promise is broken"),
    CONFIG_NESTED("quota", AT(quota), quota_keys,
                  "of users without a quota of their own"),
    {.name = "quotas",
     .type = CONFIG_LIST,
     .keys = quota_entry_keys,
     .item_size = sizeof(struct service_quota_entry_config),
     .offset = AT(quotas),
     .help = "of users, and of accounts, QOS and partitions of Slurm; what corgi quota "
             "set said goes before"},
    {.name = "shares",
     .type = CONFIG_LIST,
     .keys = share_keys,
     .item_size = sizeof(struct service_share_config),
     .offset = AT(shares),
     .help =
         "parts of the cluster by user and account, see policy.fair_share; whoever "
         "is not named has weight 1; a job has the first part that names its account, "
         "QOS or partition"},
    CONFIG_NESTED("keep", AT(keep), keep_keys, "how long the store remembers"),
    CONFIG_NESTED("energy", AT(energy), energy_keys, "what a kilowatt-hour means"),
    CONFIG_NESTED("sim", AT(sim), sim_keys, "the simulated cluster, with engine: sim"),
    CONFIG_NESTED("local", AT(local), local_config_keys,
                  "the devices of this machine, with engine: local"),
    CONFIG_NESTED("slurm", AT(slurm), slurm_config_keys,
                  "beside Slurm, with engine: slurm"),
    CONFIG_NESTED("log", AT(log), log_keys, "what goes to standard error"),
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
    if (read.engine == SERVICE_ENGINE_SLURM && slurm_config_check(&read.slurm, err) < 0) {
        service_config_fini(&read);
        return err_prefix(err, "%s", path);
    }
    if (service_config_check_groups(&read, path, err) < 0) {
        service_config_fini(&read);
        return -1;
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

/* ---- where socket and state are unless told -----------------------------------------
 */

static const char *environment(const char *name)
{
    const char *value = getenv(name);

    return value && value[0] == '/' ? value : NULL;
}

char *service_default_socket(void)
{
    const char *runtime = environment("XDG_RUNTIME_DIR");
    char folder[64];

    if (environment("CORGI_SOCKET"))
        return mem_strdup(environment("CORGI_SOCKET"));
    if (environment("RUNTIME_DIRECTORY"))
        return file_join(environment("RUNTIME_DIRECTORY"), "corgid.sock");
    if (geteuid() == 0)
        return mem_strdup("/run/corgi/corgid.sock");
    if (runtime)
        return file_join(runtime, "corgi/corgid.sock");
    snprintf(folder, sizeof(folder), "/tmp/corgi-%u", (unsigned)geteuid());
    return file_join(folder, "corgid.sock");
}

char *service_default_state(void)
{
    const char *state = environment("XDG_STATE_HOME");
    const char *home = environment("HOME");

    if (environment("STATE_DIRECTORY"))
        return mem_strdup(environment("STATE_DIRECTORY"));
    if (geteuid() == 0)
        return mem_strdup("/var/lib/corgi");
    if (state)
        return file_join(state, "corgi");
    return home ? file_join(home, ".local/state/corgi") : mem_strdup("/tmp/corgi-state");
}

double service_config_clock_rate(const struct service_config *c)
{
    return c->engine == SERVICE_ENGINE_SIM && c->sim.clock == SIM_CLOCK_WALL
               ? c->sim.speed
               : 1;
}

/* On the wall's clock a job is measured every two seconds, power every five. */
struct sim_engine_options service_config_sim(const struct service_config *config)
{
    const struct service_sim_config *c = &config->sim;
    struct sim_engine_options options = sim_engine_defaults();

    options.cluster = c->cluster;
    options.cluster_file = c->cluster_file;
    options.speed = c->speed;
    options.measure_s = c->measure_s > 0 ? c->measure_s : fmax(10, 2 * c->speed);
    options.demand_s = options.measure_s;
    options.power_s = c->power_s > 0 ? c->power_s : fmax(10, 5 * c->speed);
    options.restore_s = c->restore_s;
    options.queue = c->queue;
    options.sleep_s = c->sleep_s;
    options.noise_sd = c->noise;
    options.seed = c->seed;
    options.clock = (enum sim_clock)c->clock;
    options.start_s = c->start_s;
    return options;
}

struct learned_options service_config_learned(const struct service_config *config)
{
    return (struct learned_options){
        .seed = 1,
        .networks = (enum network_choice)config->learning.model,
        .keep_users_apart = !config->learning.share_between_users};
}

struct optimize_settings service_config_allowed(const struct service_config *c,
                                                const struct optimize_settings *wanted)
{
    struct optimize_settings s = *wanted;

    if (c->engine != SERVICE_ENGINE_SLURM || c->slurm.mode != SLURM_PLACES)
        return s;
    if (!c->slurm.sharing)
        s.share_max = 1;
    s.caps = s.caps && c->slurm.cap_program;
    s.sleep = s.sleep && c->slurm.sleep;
    s.moves = s.moves && c->slurm.moves;
    if (!c->slurm.moves)
        s.preempt = PREEMPT_NOBODY;
    return s;
}

struct loop_options service_config_loop(const struct service_config *c)
{
    double rate = service_config_clock_rate(c);

    return (struct loop_options){.settings = service_config_allowed(c, &c->policy),
                                 .seed = 1,
                                 .round_gap_s = c->planner.gap_s * rate,
                                 .round_every_s = c->planner.every_s * rate,
                                 .most_waiting = (size_t)c->planner.most_waiting};
}
