/* local_private.h - the parts of the local engine as they see each other */
#ifndef CORGI_ENGINE_LOCAL_LOCAL_PRIVATE_H
#define CORGI_ENGINE_LOCAL_LOCAL_PRIVATE_H

#include "engine/local/cpu_quota.h"
#include "engine/local/attempt.h"
#include "engine/local/outbox.h"
#include "engine/local/gpus.h"
#include "engine/local/local.h"
#include "engine/local/device_power.h"

struct local_device {
    bool cpu; /* a set of cores; else a GPU */
    int gpu;  /* its index among the GPUs; -1: CPU */
    bool lost;
    char uuid[GPU_UUID_SIZE];
    struct gpu_sheet sheet;
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
    char text[200];

    int lock_fd;
    int epoll_fd;
    int report_fd;
    int timer_fd;
    int wake_fd; /* an eventfd: there are events to deliver */

    int device_count;
    struct local_device *devices; /* (device_count) */
    struct cpus_device *cpus;     /* (device_count) zeroed for GPUs */
    struct cgroups *groups;
    struct cpu_quota *quota;
    struct gpus *gpus; /* NULL: not wanted */
    struct device_power *power;
    struct outbox outbox;

    vec_of(struct attempt *) attempts;
    uint64_t next_serial;
    struct process_table processes; /* as of the last look */
    double next_look_s;             /* monotonic */
    double next_power_s;
};

/* What a descriptor of the epoll set belongs to; with an attempt's serial above. */
enum local_source {
    LOCAL_REPORT,
    LOCAL_TIMER,
    LOCAL_WAKE,
    LOCAL_PROBE,  /* a pidfd */
    LOCAL_RESULT, /* of a launch */
    LOCAL_GPUS,   /* telemetry */
    LOCAL_SOURCES,
};

int local_watch(struct local_engine *e, int fd, enum local_source source, uint64_t serial,
                struct err *err);
void local_kick(struct local_engine *e); /* there is something for dispatch() to do */
void local_tell(struct local_engine *e, struct engine_event event, const char *text);
void local_warn(struct local_engine *e, uint64_t job, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
struct attempt *local_attempt_of(struct local_engine *e, uint64_t job);

void local_add_attempt(struct local_engine *e, struct attempt *a); /* takes it */

/* devices.c - what there is: GPUs of telemetry, CPU devices of the config. */
int local_devices_open(struct local_engine *e, const struct local_engine_options *options,
                       struct err *err);
int local_devices_cluster(struct local_engine *e, struct cluster **cluster,
                          struct err *err);
void local_devices_watch(struct local_engine *e); /* telemetry saw something */
void local_devices_close(struct local_engine *e);
int local_devices_cap(struct local_engine *e, int device, double watts, struct err *err);

/* start.c - from a job to a probe that runs. */
int start_job(struct local_engine *e, const struct engine_job *job, struct err *err);
void start_result(struct attempt *a);                       /* of the launch */
void start_tell(struct local_engine *e, struct attempt *a); /* once */

/* stop.c - the steps of stopping, and the sweep after the probe is gone. */
#define STOP_STUBBORN_S 30.0 /* then a process that cannot be killed is told about */
void stop_begin(struct local_engine *e, struct attempt *a, enum engine_stop how);
void stop_advance(struct local_engine *e, struct attempt *a, double now_s);
void stop_owed(struct attempt *a); /* the command runs: signals that waited for it */
void stop_kill_members(struct local_engine *e, struct attempt *a);
/* The probe has ended: wait for it and begin to sweep. */
void stop_probe_gone(struct local_engine *e, struct attempt *a);
/* Kill what is left; true when nothing is. */
bool stop_sweep(struct local_engine *e, struct attempt *a);

/* finish.c - how an attempt ended, told once. */
void finish(struct local_engine *e, struct attempt *a);

/* reports.c - the socket probes report to. */
int reports_open(struct local_engine *e, struct err *err);
void reports_read(struct local_engine *e);

/* look.c - a look at all processes: who belongs to whom, time and memory used. */
void look_at_all(struct local_engine *e);
/* The report that the command was started may be lost; the probe's file is not. */
void look_for_start(struct local_engine *e, struct attempt *a);
/* The last of its processor time, before its group goes. */
void look_at_end(struct local_engine *e, struct attempt *a);

/* adopt.c - after a restart. */
int adopt_job(struct local_engine *e, const struct engine_job *job, struct err *err);
void adopt_end(struct local_engine *e);

#endif
