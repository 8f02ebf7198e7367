/* local_private.h - the parts of the local engine as they see each other */
#pragma once

#include "base/poller.h"
#include "base/process.h"
#include "engine/local/cgroups.h"
#include "engine/local/energy_booking.h"
#include "engine/local/local.h"
#include "gpu/gpu_caps.h"
#include "gpu/gpu_meter.h"
#include "probe/probe_report.h"

#include <pwd.h>

/* ---- an attempt: one start of one job, from the fork to the last process of it ---- */

enum attempt_state {
    ATTEMPT_LAUNCHING, /* forked, the probe is not there yet */
    ATTEMPT_RUNNING,   /* the probe runs */
    ATTEMPT_SWEEPING,  /* the probe is gone, what it left is being killed */
    ATTEMPT_OVER,      /* told; to be freed */
};

enum attempt_stop {
    ATTEMPT_WANTED,     /* nobody wants it to stop */
    ATTEMPT_CHECKPOINT, /* was sent the checkpoint signal */
    ATTEMPT_TERM,       /* SIGTERM */
    ATTEMPT_KILL,       /* its processes were killed, the probe may still tell how */
    ATTEMPT_KILL_PROBE, /* the probe too */
};

struct local_engine;

/* Files of an attempt are in <state>/jobs/ID/attempt-N/, which belongs to the job's user:
 * nothing in there is believed that could hurt somebody else. */
struct attempt {
    struct local_engine *engine;
    uint64_t job;
    int number;
    uid_t uid;
    gid_t gid;
    double grace_s;
    int checkpoint_signal;
    bool nobody; /* found after a restart, not named by the daemon: tells no events */
    int device_count;
    int devices[LOOP_MAX_GANG];
    char *dir;
    char key[PROBE_KEY_SIZE]; /* by which its probe proves itself; "": it has none */
    char aside[64];           /* its probe's */
    char group[64];           /* its cgroup; "": not known */
    int throttle;             /* its group of the throttle cycle */

    enum attempt_state state;
    struct process_id probe;
    int pidfd;     /* -1: there is none */
    int result_fd; /* of the launch; -1: known */
    struct poller_watch probe_watch, result_watch;
    bool child;      /* of this process: has to be waited for */
    int wait_status; /* of the probe; meaningful when waited */
    bool waited;
    bool told_start;
    bool launch_failed;

    enum attempt_stop stop;
    int owed_signal;     /* to the probe, when it has started the command; 0: none */
    double stop_epoch_s; /* when the stop was asked for, since the epoch */
    double deadline_s;   /* of the present step of stopping or sweeping; monotonic */
    bool forced;         /* grace was over, it was killed */
    bool killed;         /* somebody did not want to wait for that */
    bool out_of_memory;
    bool stubborn_told;
    char why[240]; /* what the engine knows of the end, first reason wins */

    struct process_ids members; /* processes of the job, the probe too, when last seen */
    double cpu_s;               /* used, as last counted; NaN: not counted yet */
    double rss_bytes;
    bool service;     /* how busy it is will be told */
    double counted_s; /* when that was last told; NaN: not yet */
    double
        counted_cpu_s; /* the time its processes, without the probe, had used by then */
    struct process_threads threads; /* of a service on several cores, by then */
    double gpu_busy_s,
        gpu_seen_s;     /* device seconds of its processes, of all, since then */
    uint64_t oom_kills; /* of its cgroup when it began */
};

/* ---- the engine ------------------------------------------------------------------- */

struct local_energy {
    double joules;
    double seconds; /* the joules are of */
    bool modelled;
};

struct local_use { /* of a CPU device since the last power event */
    uint64_t job;
    double cpu_s;
};

struct local_device {
    struct cpus_device cpu; /* core_count 0: a GPU */
    int gpu;                /* its index in telemetry; -1: a set of cores */
    bool part;              /* a MIG instance: has no meter */
    bool lost;
    enum gpu_status status; /* of a GPU, as last read */
    struct err trouble;     /* when it was not well */
    struct gpu_sheet sheet;
    double scale; /* of the quota that may be used, in (0, 1] */

    struct energy_booking *booking; /* of a whole GPU; NULL: cores, a MIG instance */
    vec_of(struct local_use) uses;
    double used_s; /* processor time since the last power event, of all */
    double watts;  /* mean between the last two; NaN before */
};

/* Where probes of one user report: nobody else can write there. */
struct report_socket {
    struct local_engine *engine;
    uid_t uid;
    int fd;
    char *path;
    struct poller_watch watch;
    double said_s;    /* when the log was last told of what was refused; monotonic */
    uint64_t refused; /* since then */
};

/* An event that waits for dispatch() to tell it. */
struct queued_event {
    struct engine_event event;
    char *text;                  /* the event's, ours */
    struct engine_share *shares; /* likewise */
};

struct local_engine {
    struct engine_sink sink;
    struct local_engine_options options;
    char *state_dir;
    char *probe;
    char *node;
    vec_of(struct report_socket *) sockets;

    int poller;
    int lock_fd;
    int timer_fd;
    int wake_fd; /* an eventfd: there are events to deliver */
    struct poller_watch timer, wake, telemetry;

    int device_count;
    struct local_device *devices; /* (device_count) GPUs first */
    struct gpu *gpu;              /* telemetry; NULL: there is none */
    struct gpu_caps *caps;        /* NULL: no GPUs for jobs */
    struct gpu_sampler *sampler;
    struct local_energy energy[GPU_MAX_DEVICES]; /* by telemetry's index, not told yet */
    double power_s;                              /* of the last power events; NaN: none */
    double machine_used_s; /* processor time of the whole machine by then */

    struct cgroups *groups;
    const char *quota_by;          /* cgroup, throttle cycle, none without CPU devices */
    struct cpu_throttle *throttle; /* NULL: cgroups do it, or there is nothing to do */
    vec_of(struct attempt *) seated; /* that have a part of their devices */

    vec_of(struct queued_event) queue;
    vec_of(struct attempt *) attempts;
    struct process_table processes; /* as of the last look */
    double next_sweep_s;            /* when those that are being killed are looked at */
    double next_look_s;             /* monotonic */
    double next_power_s;
};

/* local.c - waiting, telling, and the list of attempts. */
int local_watch(struct local_engine *e, struct poller_watch *watch, int fd,
                void (*ready)(void *ctx, uint32_t events), void *ctx, struct err *err);
void local_kick(struct local_engine *e); /* there is something for dispatch() to do */
/* An event of now in which nothing else is said: NaN, -1, "". */
struct engine_event local_event(enum engine_event_kind kind);
struct engine_event local_event_of(enum engine_event_kind kind, const struct attempt *a);
/* The text and the shares are copied; NULL is fine. */
void local_tell(struct local_engine *e, struct engine_event event, const char *text);
void local_warn(struct local_engine *e, uint64_t job, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
struct attempt *local_attempt_of(struct local_engine *e, uint64_t job);
void local_add_attempt(struct local_engine *e, struct attempt *a); /* takes it */
/* Devices that a job names must be there. */
int local_check_devices(const struct local_engine *e, const struct engine_job *job,
                        struct err *err);

/* attempt.c - of a job the daemon names, and of one that was found and nobody names. */
struct attempt *attempt_create(struct local_engine *e, const struct engine_job *job);
/* In the environment of a probe, and of nobody else. */
#define PROBE_KEY_MARK "CORGI_KEY"
/* Under its folder, unless the job names a file. */
#define ATTEMPT_OUTPUT "output"

struct attempt *attempt_create_nobody(struct local_engine *e, uint64_t job, int number);
void attempt_destroy(struct attempt *attempt); /* NULL is fine */
/* The first reason stays: later ones follow from it. */
void attempt_explain(struct attempt *attempt, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Bounded, of the user's folder: no link is followed.  False: not there, or not right. */
bool attempt_read_status(const struct attempt *attempt, struct probe_report *status);
bool attempt_read_pids(const struct attempt *attempt, struct process_id *probe,
                       struct process_id *child);
/* The last line the probe wrote to its own messages, for when it failed. */
void attempt_read_message(const struct attempt *attempt, char *text, size_t size);
/* Stop watching and close them. */
void attempt_close_probe(struct attempt *attempt);
void attempt_close_result(struct attempt *attempt);
/* Does a process carry the attempt's marks in the environment it was started with? */
bool attempt_marked(const struct attempt *attempt, pid_t pid);
/* Is it the attempt's probe: a process of the job's user, which has its key too? */
bool attempt_is_probe(const struct attempt *attempt, pid_t pid);
/* A new key, in the attempt's folder for the probe, beside it for the next daemon. */
int attempt_make_key(struct attempt *attempt, struct err *err);
void attempt_read_key(struct attempt *attempt);
bool attempt_has_key(const struct attempt *attempt, const char *key);

/* local_devices.c - what there is: GPUs of telemetry, CPU devices of the config. */
int local_devices_open(struct local_engine *e, struct err *err);
void local_devices_close(struct local_engine *e);
int local_devices_cluster(void *engine, struct cluster **cluster, struct err *err);
int local_devices_cap(void *engine, int device, double watts, struct err *err);

/* device_power.c - watts and joules of the devices, and whose they are. */
/* A job of a CPU device used this much more processor time. */
void device_power_used(struct local_device *device, uint64_t job, double cpu_s);
/* Close the interval since the last call: one ENGINE_POWER event for each device. */
void device_power_tell(struct local_engine *e, double now_s);

/* cpu_quota.c - which job may use how much of the processor. */
int cpu_quota_open(struct local_engine *e, struct err *err);
void cpu_quota_close(struct local_engine *e); /* jobs keep what they have */
/* A job comes (its group is made, its probe may not run yet), is there, goes. */
int cpu_quota_join(struct local_engine *e, struct attempt *a, struct err *err);
void cpu_quota_started(struct local_engine *e, const struct attempt *a);
void cpu_quota_leave(struct local_engine *e, const struct attempt *a);
/* Use only this part of the device's quota, in (0, 1]. */
void cpu_quota_scale(struct local_engine *e, int device, double scale);
int cpu_quota_jobs_on(const struct local_engine *e, int device);

/* job_env.c - the environment of a job: clean, then ours, then what its user asked for.
 * Nothing of the daemon's own environment gets in.  The variables that name a job's
 * devices, and those by which the engine finds its processes, cannot be overwritten. */
#define JOB_ENV_MAX_BYTES (1U << 20)
struct job_env {
    char **items; /* NULL-terminated */
    size_t count;
    size_t capacity;
};
/* NAME=value; a name that is there gets the new value. */
void job_env_set(struct job_env *env, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The user's, NULL-terminated or NULL.  Names that only the engine may set are passed
 * over: they are often there by accident, from the shell a job was submitted in. */
int job_env_add(struct job_env *env, const char *const *entries, struct err *err);
void job_env_fini(struct job_env *env);
/* What its probe is started with: nothing in there is the user's. */
void job_env_fill_probe(struct job_env *env, const struct local_engine *e,
                        const struct attempt *a);
/* All that a job is started with. */
int job_env_fill(struct job_env *env, const struct local_engine *e,
                 const struct attempt *a, const struct engine_job *job,
                 const struct passwd *user, struct err *err);

/* start.c - from a job to a probe that runs. */
int start_job(void *engine, const struct engine_job *job, struct err *err);
void start_result(struct attempt *a);                       /* of the launch */
void start_tell(struct local_engine *e, struct attempt *a); /* once */

/* stop.c - the steps of stopping, the sweep after the probe is gone, the end. */
#define STOP_STUBBORN_S 30.0 /* then a process that cannot be killed is told about */
void stop_begin(struct attempt *a, enum engine_stop how);
void stop_advance(struct local_engine *e, struct attempt *a, double now_s);
void stop_owed(struct attempt *a); /* the command runs: signals that waited for it */
void stop_kill_members(struct local_engine *e, struct attempt *a);
/* The probe's descriptor says that it has ended; ctx is the attempt. */
void stop_probe_gone(void *ctx, uint32_t events);
/* Kill what is left; when nothing is, tell how the attempt ended. */
void stop_sweep(struct local_engine *e, struct attempt *a);

/* watch_jobs.c - reports of probes; processes, their time and memory. */
void watch_close(struct local_engine *e);
/* Where the probes of a user report; NULL with err. */
const char *watch_listen(struct local_engine *e, uid_t uid, struct err *err);
void watch_reports(struct local_engine *e);
void watch_processes(struct local_engine *e);
/* The report that the command was started may be lost; the probe's file is not. */
void watch_for_start(struct local_engine *e, struct attempt *a);
/* The last of its processor time, before its group goes. */
void watch_at_end(struct local_engine *e, struct attempt *a);

/* adopt.c - after a restart. */
int adopt_job(void *engine, const struct engine_job *job, struct err *err);
void adopt_end(void *engine);
