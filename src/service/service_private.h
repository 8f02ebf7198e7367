/* service_private.h - the inside of the daemon, for the files of this folder only
 *
 * All of it belongs to the reactor's thread.  Two other threads work for it: the store's
 * writer, and the planning thread (the middle of rounds, lessons); both post back. */
#ifndef CORGI_SERVICE_SERVICE_PRIVATE_H
#define CORGI_SERVICE_SERVICE_PRIVATE_H

#include "base/json_out.h"
#include "base/map.h"
#include "base/vec.h"
#include "engine/engine.h"
#include "http/metrics.h"
#include "http/request.h"
#include "http/server.h"
#include "http/sse.h"
#include "loop/admit/user_quotas.h"
#include "loop/loop.h"
#include "service/service_config.h"
#include "service/job_records.h"
#include "store/access.h"
#include "store/store.h"

struct planning_thread;
struct daemon_metrics;
struct clock_stepper;

struct token {
    uint64_t id;
    char public_id[AUTH_ID_SIZE];
    char note[208];
    double created_s;
    struct auth_token_record record;
};

/* A device and a node, as far as the loop does not know them. */
struct device_more {
    char name[LOOP_NAME_SIZE + 16]; /* NODE:INDEX */
    double watts;                   /* NaN: never told */
    double joules;                  /* since the daemon began */
    double told_s;
    bool modelled;
    int leaving;       /* jobs told to leave that have not left yet */
    double wish_watts; /* an operator's cap; 0: none */
    char reason[208];
};

struct node_more {
    bool drained;
    double host_s; /* the host's energy is booked up to here */
    int power;     /* enum store_power_wish of the operator */
    char reason[208];
};

struct service {
    struct service_config config;
    const char *config_path; /* NULL: defaults */
    char *socket, *state, *journal;
    struct reactor *reactor;
    struct server *server;
    struct sse_hub *hub;
    struct metrics *metrics;
    struct daemon_metrics *figures;
    struct store *store;
    struct store_reader *reader;
    struct engine engine;
    struct reactor_watch *engine_watch;
    struct loop *loop;
    struct planning_thread *planning;
    uint64_t lessons; /* taken since the start */
    struct records *records;
    struct device_more *devices; /* (cluster devices) */
    struct node_more *nodes;     /* (cluster nodes) */
    vec_of(struct user_quota) quotas;
    vec_of(struct token) tokens;
    vec_of(struct store_audit) audits; /* to be written; strings are its own */
    struct intern *classes;            /* kinds of jobs seen, see job_parse.c */
    struct reactor_timer *round_timer, *tick_timer, *keep_timer, *checkpoint_timer;
    struct reactor_watch *signals[3];
    double ended_s;              /* the clock when the engine went */
    double started_s;            /* on the daemon's clock */
    double round_wall_s;         /* when the last round began, on the wall's clock */
    long unstored;               /* transactions on their way to disk */
    struct clock_stepper *clock; /* NULL: nobody has moved the time yet */
    double progress_wall_s;      /* when progress was last stored */
    double watchdog_wall_s;      /* when systemd was last told */
    uint64_t rounds;
    uint64_t newest_event;
    uint64_t stale_plans;
    size_t explained; /* jobs that were told why they wait, over and over */
    bool round_running;
    bool services_moved; /* demand of a service was measured since the last tick */
    bool starting, draining, failing;
    int exit_status;
    double total_joules, saved_joules;
    double promised_s, kept_s; /* job time under a promise, and of that kept */
    long done, failed, cancelled;
    double policy_changed_s;
    char policy_changed_by[AUTH_NAME_SIZE];
};

/* The daemon's clock: seconds since the epoch, or the simulated world's time. */
double service_now_s(const struct service *s);

/* How fast that clock goes: seconds of it in a second of the wall's. */
double service_clock_rate(const struct service *s);

int service_device_named(const struct service *s, const char *name); /* -1: none */
int service_node_named(const struct service *s, const char *name);   /* -1: none */

/* May this identity see, or change, the job of this user? */
bool service_may_see(const struct auth_identity *who, const char *user);
bool service_may_touch(const struct auth_identity *who, const char *user);

#endif
