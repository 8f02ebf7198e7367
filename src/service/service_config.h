/* service_config.h - the daemon's config file: every key, its default and what it is for
 *
 * One table for the daemon and for `corgi config check --kind daemon`. */
#pragma once

#include "engine/sim/sim_engine.h"
#include "loop/admit/user_quotas.h"
#include "loop/loop.h"
#include "base/config.h"
#include "engine/local/local.h"
#include "engine/slurm/slurm_engine.h"
#include "loop/planner.h"
#include "store/admin.h"

enum service_engine { SERVICE_ENGINE_SIM, SERVICE_ENGINE_LOCAL, SERVICE_ENGINE_SLURM };
extern const char *const service_engine_names[];

struct service_listen_config {
    char *socket; /* NULL: service_default_socket() */
    char *socket_mode;
    char *socket_group;
    char *tcp;
    char *certificate, *key;
    bool anywhere;
};

struct service_auth_config {
    struct config_list operators, operator_groups, viewers; /* of char * */
    int local_role, anonymous_role;
};

struct service_limit_config {
    int body_kb;
    int connections, connections_each;
    int streams;
    double requests_per_s, burst;
    double kb_per_s; /* of bodies */
    double answer_s;
    int jobs;            /* waiting and running, all users */
    int classes;         /* kinds of jobs the estimator tells apart */
    int priority;        /* a user may ask for; operators may ask for any */
    double stop_grace_s; /* a job may ask for */
};

struct service_planner_config {
    double gap_s, every_s; /* of the wall */
    int most_waiting;
    double checkpoint_s;
};

struct service_learning_config {
    bool share_between_users;
    int model; /* enum network_choice */
};

struct service_guard_config {
    double tolerance;
};

struct service_quota_config {
    int max_jobs, max_running, max_gpus; /* 0: no limit */
};

/* Of one user, account, QOS or partition; -1: no limit. */
struct service_quota_entry_config {
    char *user;               /* NULL all but one */
    char *groups[JOB_GROUPS]; /* likewise */
    int max_jobs, max_running, max_gpus;
    int line;
};

/* An account with its users, or users with a weight of their own, or what an engine calls
 * account, QOS or partition of a job. */
struct service_share_config {
    char *groups[JOB_GROUPS]; /* one at most; none: each of the users has this weight */
    double weight;
    int line;
    struct config_list users; /* of char * */
};

struct service_energy_config {
    double price_per_kwh, co2_g_per_kwh; /* 0: not known */
    char *currency;
};

struct service_sim_config {
    char *cluster;
    char *cluster_file;
    double speed;
    double measure_s, power_s; /* 0: from the speed */
    double restore_s;
    bool queue;
    double sleep_s;
    double noise;
    uint64_t seed;
    int clock;      /* enum sim_clock */
    double start_s; /* of a world that is new; 0: now */
};

struct service_log_config {
    int level, format;
};

struct service_config {
    int engine;  /* enum service_engine */
    char *state; /* folder; NULL: service_default_state() */
    char *pid_file;
    int nice; /* of the daemon's threads, where it has the right */
    struct service_listen_config listen;
    struct service_auth_config auth;
    struct service_limit_config limits;
    struct optimize_settings policy;
    struct service_planner_config planner;
    struct service_learning_config learning;
    struct service_guard_config guard;
    struct service_quota_config quota;
    struct config_list quotas; /* of struct service_quota_entry_config */
    struct config_list shares; /* of struct service_share_config */
    struct store_retention keep;
    struct service_energy_config energy;
    struct service_sim_config sim;
    struct local_engine_options local;
    struct slurm_config slurm;
    struct service_log_config log;
};

extern const struct config_key service_config_keys[];

/* The file over the defaults; path NULL: the defaults alone.  *config is untouched on
 * failure; end it with service_config_fini(). */
int service_config_load(struct service_config *config, const char *path, struct err *err);
/* What the command line says goes before the file; NULL: nothing. */
void service_config_override(struct service_config *config, const char *socket,
                             const char *state);
void service_config_fini(struct service_config *config);

/* What the simulated engine and the loop are made with; `corgi sim --daemon` makes the
 * same of it. */
struct sim_engine_options service_config_sim(const struct service_config *config);
struct loop_options service_config_loop(const struct service_config *config);
/* What is wanted, as far as the engine may do it: under Slurm each thing is switched on
 * by itself. */
struct optimize_settings service_config_allowed(const struct service_config *config,
                                                const struct optimize_settings *wanted);
struct learned_options service_config_learned(const struct service_config *config);

/* Does each entry of quotas and shares name one thing that can be, once? */
int service_config_check_groups(const struct service_config *config, const char *path,
                                struct err *err);

/* What is this user's of the cluster; its texts are the config's, the name's and the
 * label's. */
struct fair_share_rule service_config_share(const struct service_config *config,
                                            int owner, const char *name);

/* A job belongs to something that has a part of its own: the first such entry; false:
 * none.  Then the label under which it has that: an account's name, another's key. */
bool service_config_label(const struct service_config *config,
                          const struct job_groups *there, char label[LOOP_NAME_SIZE]);
/* Of the user's jobs with that label alone; account NULL: it has no part any more. */
struct fair_share_rule service_config_share_apart(const struct service_config *config,
                                                  int owner, const char *name,
                                                  const char *label);

/* The quotas of the list, (quotas.count) of them; the caller frees. */
struct user_quota *service_config_quotas(const struct service_config *config);

/* Seconds of the daemon's clock in one of the wall's. */
double service_config_clock_rate(const struct service_config *config);

/* Where things are when nobody says so: the folders a unit of systemd was given, the
 * system's for root, else those of the user.  The caller frees. */
char *service_default_socket(void);
char *service_default_state(void);
