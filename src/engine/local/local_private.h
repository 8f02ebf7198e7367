/* local_private.h - the parts of the local engine as they see each other */
#ifndef CORGI_ENGINE_LOCAL_LOCAL_PRIVATE_H
#define CORGI_ENGINE_LOCAL_LOCAL_PRIVATE_H

#include "base/poller.h"
#include "engine/local/attempt.h"
#include "engine/local/cpu_quota.h"
#include "engine/local/device_power.h"
#include "engine/local/gpus.h"
#include "engine/local/job_env.h"
#include "engine/local/local.h"

#include <pwd.h>

struct local_device {
    bool cpu; /* a set of cores; else a GPU */
    int gpu;  /* its index among the GPUs; -1: CPU */
    bool lost;
    char uuid[GPU_UUID_SIZE];
    struct gpu_sheet sheet;
};

/* An event that waits for dispatch() to tell it. */
struct queued_event {
    struct engine_event event;
    char *text;                  /* the event's, ours */
    struct engine_share *shares; /* likewise */
};

struct local_engine {
    struct engine_sink sink;
    struct local_engine_options options; /* strings as below, lists not kept */
    char *state_dir;
    char *probe;
    char *node;
    char *search_path;
    char *mps_directory;
    char *report_path;

    int poller;
    int lock_fd;
    int report_fd;
    int timer_fd;
    int wake_fd; /* an eventfd: there are events to deliver */
    struct poller_watch reports, timer, wake, telemetry;

    int device_count;
    struct local_device *devices; /* (device_count) */
    struct cpus_device *cpus;     /* (device_count) zeroed for GPUs */
    struct cgroups *groups;
    struct cpu_quota *quota;
    struct gpus *gpus; /* NULL: not wanted */
    struct device_power *power;

    vec_of(struct queued_event) queue;
    vec_of(struct attempt *) attempts;
    struct process_table processes; /* as of the last look */
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

/* local_devices.c - what there is: GPUs of telemetry, CPU devices of the config. */
int local_devices_open(struct local_engine *e, const struct local_engine_options *options,
                       struct err *err);
int local_devices_cluster(struct local_engine *e, struct cluster **cluster,
                          struct err *err);
void local_devices_close(struct local_engine *e);
int local_devices_cap(struct local_engine *e, int device, double watts, struct err *err);

/* job_env.c - the whole environment a job is started with. */
int job_env_fill(struct job_env *env, const struct local_engine *e,
                 const struct attempt *a, const struct engine_job *job,
                 const struct passwd *user, struct err *err);

/* start.c - from a job to a probe that runs. */
int start_job(struct local_engine *e, const struct engine_job *job, struct err *err);
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
int watch_open(struct local_engine *e, struct err *err);
void watch_reports(struct local_engine *e);
void watch_processes(struct local_engine *e);
/* The report that the command was started may be lost; the probe's file is not. */
void watch_for_start(struct local_engine *e, struct attempt *a);
/* The last of its processor time, before its group goes. */
void watch_at_end(struct local_engine *e, struct attempt *a);

/* adopt.c - after a restart. */
int adopt_job(struct local_engine *e, const struct engine_job *job, struct err *err);
void adopt_end(struct local_engine *e);

#endif
