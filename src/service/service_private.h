/* service_private.h - the inside of the daemon, for the files of this folder only
 *
 * All of it belongs to the reactor's thread.  Two other threads work for it: the store's
 * writer, and the planning thread (the middle of rounds, lessons); both post back. */
#pragma once

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
#include "store/rows.h"
#include "store/store.h"

struct planning_task;
struct planning_thread;
struct daemon_metrics;
struct clock_stepper;
struct preview_task;
struct output_desk;
struct job_digests;
struct report_desk;
struct trends;
struct beliefs_moved;

/* Of what a person says. */
#define SERVICE_REASON_SIZE 208

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
    double probe_watts, probe_s; /* as a job's probe saw it last, and when */
    uint64_t probe_job;          /* whose probe */
    int leaving;                 /* jobs told to leave that have not left yet */
    double wish_watts;           /* an operator's cap; 0: none */
    char reason[SERVICE_REASON_SIZE];
};

struct node_more {
    bool drained;
    double host_s;     /* the host's energy is booked up to here */
    double host_watts; /* as metered; 0: nobody does */
    int power;         /* enum store_power_wish of the operator */
    char reason[SERVICE_REASON_SIZE];
    char partitions[SERVICE_REASON_SIZE]; /* it is in, of the engine; "": not told */
};

/* Setting of the store; its text is empty unless an operator has paused the loop. */
#define SERVICE_PAUSED "paused"

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
    struct reactor_event *engine_watch;
    struct loop *loop;
    struct planning_thread *planning;
    uint64_t lessons; /* taken since the start */
    struct records *records;
    struct device_more *devices; /* (cluster devices) */
    struct node_more *nodes;     /* (cluster nodes) */
    size_t named_devices, named_nodes;
    bool advises;     /* the engine decides itself: rounds only say what they would do */
    bool controls;    /* the engine has jobs that we place, and jobs that it only watches:
                         those are kept out of the loop */
    bool paused;      /* by an operator: rounds change nothing, what runs goes on */
    char notice[400]; /* of the engine, for operators; "": none */
    char offline[400]; /* the engine cannot be reached, and why; "": it can */
    vec_of(struct user_quota) quotas;
    vec_of(struct token) tokens;
    struct store_batch *audits; /* to be written; NULL: none */
    struct intern *classes;     /* kinds of jobs seen, see job_parse.c */
    struct reactor_event *round_timer, *tick_timer, *keep_timer, *checkpoint_timer;
    struct reactor_event *signals[3];
    double ended_s;                  /* the clock when the engine went */
    double started_s;                /* on the daemon's clock */
    double round_wall_s;             /* when the last round began, on the wall's clock */
    long unstored;                   /* transactions on their way to disk */
    struct clock_stepper *clock;     /* NULL: nobody has moved the time yet */
    struct preview_task *preview;    /* NULL: none is being played */
    struct output_desk *output_desk; /* NULL: nobody has asked for output yet */
    struct report_desk *report_desk; /* NULL: no probe has reported yet */
    struct map
        *slurm_tokens; /* ends of their digests, and jobs; NULL: none was shown yet */
    unsigned char report_key[AUTH_KEY_BYTES]; /* of tokens of jobs */
    struct job_digests *job_digests;          /* of tokens that Slurm's plugin made */
    struct trends *trends;                    /* NULL: nothing was noted yet */
    struct beliefs_moved *beliefs_moved;      /* NULL: nothing was measured yet */
    double progress_wall_s;                   /* when progress was last stored */
    double watchdog_wall_s;                   /* when systemd was last told */
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

/* Is it moved by hand (POST /v1/sim/advance)? */
bool service_clock_stepped(const struct service *s);

/* The cluster has devices and nodes that have no names here yet. */
void service_name_devices(struct service *s);

int service_device_named(const struct service *s, const char *name); /* -1: none */
/* Names with commas between to numbers, LOOP_MAX_GANG at most; returns how many there
 * are, *found of which the cluster has. */
int service_devices_named(const struct service *s, const char *names, int *devices,
                          int *found);
int service_node_named(const struct service *s, const char *name); /* -1: none */

/* How a job stands: as it ended, as the loop has it, or waiting. */
const struct job_status *service_status(const struct service *s, const struct record *r);

/* Who has to leave a device of this job before it can start there; NULL: nobody. */
const struct device_leaving *
service_in_the_way(const struct service *s, const struct job_status *status, int *device);

/* May this identity see, or change, the job of this user? */
bool service_may_see(const struct auth_identity *who, const char *user);
bool service_may_touch(const struct auth_identity *who, const char *user);

/* Something happened that may call for another plan: a round as soon as the gap allows.
 */
void service_want_round(struct service *s);

/* The loop was told something, or the time was moved: its next round may be due earlier.
 */
void service_follow_rounds(struct service *s);

/* ---- parts that one or two files call ------------------------------------------------
 */

/* rounds.c, for the timer and for the planning thread. */
void rounds_due(void *service);
void rounds_planned(void *service, const struct planning_task *task);

/* engine_events.c, for engine_sink. */
void engine_events_event(void *service, const struct engine_event *event);

/* A window of measurement, from the engine or over HTTP; demand of a service NaN: not
 * told.  -1: the loop cannot use it (it is stored all the same when it is of a job that
 * runs, unless it cannot be as it was told). */
int engine_events_measured(struct service *s, struct record *r,
                           const struct engine_event *event, double demand,
                           struct err *err);
/* So many requests/s are asked of a service that runs. */
void engine_events_demand(struct service *s, struct record *r, double demand);
/* Count a window that taught nothing. */
void engine_events_refused(struct service *s, struct record *r,
                           enum record_refusal refusal);

/* found_jobs.c: jobs that were handed in to the engine itself. */
void found_jobs_found(struct service *s, const struct engine_event *event);
void found_jobs_changed(struct service *s, const struct engine_event *event);
void found_jobs_belong(struct service *s, const struct engine_event *event);
void found_jobs_bound(struct service *s, const struct engine_event *event);
void found_jobs_counted(struct service *s, const struct engine_event *event);
void found_jobs_started(struct service *s, struct record *r,
                        const struct engine_event *event);
void found_jobs_ended(struct service *s, struct record *r,
                      const struct engine_event *event);
/* After a restart: the engine hears of each that has not ended. */
void found_jobs_return(struct service *s, struct record *r);
/* Before that: the job sits where the store says, and is none of the loop's business. */
void found_jobs_restore_outside(struct service *s, struct record *r,
                                const struct store_progress *progress);

/* energy_books.c: ENGINE_POWER. */
void energy_power(struct service *s, const struct engine_event *event);
void energy_host_power(struct service *s, const struct engine_event *event);
/* A probe measured this of the job's devices, each. */
void energy_probe_saw(struct service *s, const struct record *r, double watts,
                      double at_s);
void energy_close(struct service *s,
                  struct record *record); /* before it leaves the loop */

/* restart.c.  Before the loop is there: when the clock of a simulated world must at least
 * be.  Then everything else. */
double restart_clock_s(struct service *s);
int restart_rebuild(struct service *s, struct err *err);
/* A record of a stored job, in the queue; and the job as the loop shall take it back.
 * More of the store goes into the record when no row of a job is open: the energy so far.
 */
struct record *restart_record(struct service *s, const struct store_job *stored);
struct job_status restart_status(const struct record *r,
                                 const struct store_progress *progress);
void restart_read_more(struct service *s, struct record *r);
/* What was learned, and the clock, for the next start; done when stored. */
void restart_checkpoint(struct service *s);

/* handle_reports.c: the key of tokens of jobs, from the state folder; made when there is
 * none. */
int reports_load_key(struct service *s, struct err *err);
/* For the environment of a job that the daemon hands in elsewhere. */
int reports_job_token(const struct service *s, uint64_t job,
                      char token[AUTH_JOB_TOKEN_SIZE], struct err *err);

/* beliefs_moved.c: a window of this job was learned from; its end. */
void beliefs_moved_note(struct service *s, const struct record *record,
                        const struct loop_observed *seen);
void beliefs_moved_end(struct service *s);

/* trends.c: once a tick, a point now and then; its end. */
void trends_tick(struct service *s);
void trends_end(struct service *s);

/* listeners.c.  Server, streams and metrics, while nobody can connect yet; listen on what
 * systemd gave, else on the Unix socket, and on TCP if configured; other limits, rules
 * and certificates for the requests to come; write the audit log. */
void listeners_make(struct service *s);
int listeners_open(struct service *s, struct err *err);
int listeners_reload(struct service *s, const struct service_config *fresh,
                     struct err *err);
void listeners_flush(struct service *s);

/* daemon_process.c.  As sd_notify(3): "READY=1", "STOPPING=1", "WATCHDOG=1"; nothing
 * happens when systemd did not start us. */
void daemon_process_notify(const char *state);
double daemon_process_watchdog_s(void); /* between signs of life; 0: none are wanted */
int daemon_process_listen_fds(void);    /* from descriptor 3 on; 0: none */
int daemon_process_write_pid(const char *path, struct err *err);
void daemon_process_remove_pid(const char *path); /* only if it is ours */
/* A nice value for this thread and those it will start, and descriptors for so many
 * connections; what the daemon has no right to is logged. */
void daemon_process_nice(int nice);
void daemon_process_descriptors(int connections);
