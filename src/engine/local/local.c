/* local.c - see local.h: the engine's operations and its one place of waiting */
#include "engine/local/local.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "engine/local/local_private.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define BATCH         64
#define LOOK_EVERY_S  0.5  /* a look at all processes, while there are jobs */
#define SWEEP_EVERY_S 0.02 /* while processes are being killed */
#define WINDOW_S      10.0
#define POWER_EVERY_S 5.0
#define OUTPUT_BYTES  (64e6)

int local_watch(struct local_engine *e, int fd, enum local_source source, uint64_t serial,
                struct err *err)
{
    struct epoll_event event = {.events = EPOLLIN,
                                .data.u64 = serial * LOCAL_SOURCES + source};

    if (epoll_ctl(e->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0)
        return err_sys(err, "cannot watch a descriptor");
    return 0;
}

void local_kick(struct local_engine *e)
{
    uint64_t one = 1;
    ssize_t n = write(e->wake_fd, &one, sizeof(one));

    (void)n; /* full: then it is awake already */
}

void local_tell(struct local_engine *e, struct engine_event event, const char *text)
{
    outbox_push(&e->outbox, event, text);
    local_kick(e);
}

void local_warn(struct local_engine *e, uint64_t job, const char *format, ...)
{
    struct engine_event event = outbox_blank(ENGINE_WARNING);
    char text[400];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    event.job = job;
    local_tell(e, event, text);
}

struct attempt *local_attempt_of(struct local_engine *e, uint64_t job)
{
    vec_each (struct attempt *, at, &e->attempts)
        if ((*at)->job == job && (*at)->state != ATTEMPT_OVER && !(*at)->nobody)
            return *at;
    return NULL;
}

void local_add_attempt(struct local_engine *e, struct attempt *a)
{
    vec_push(&e->attempts, a);
    for (int i = 0; i < a->device_count && !a->nobody; i++)
        device_power_join(e->power, a->devices[i], a->job, clock_wall_s());
    e->next_look_s = 0;
    local_kick(e);
}

static struct attempt *by_serial(struct local_engine *e, uint64_t serial)
{
    vec_each (struct attempt *, at, &e->attempts)
        if ((*at)->serial == serial)
            return *at;
    return NULL;
}

static void drain(int fd)
{
    uint64_t count;
    ssize_t n = read(fd, &count, sizeof(count));

    (void)n; /* nothing there is fine */
}

static void handle(struct local_engine *e, uint64_t data)
{
    struct attempt *a;

    switch ((enum local_source)(data % LOCAL_SOURCES)) {
    case LOCAL_REPORT:
        reports_read(e);
        break;
    case LOCAL_TIMER:
        drain(e->timer_fd);
        break;
    case LOCAL_WAKE:
        drain(e->wake_fd);
        break;
    case LOCAL_RESULT:
        a = by_serial(e, data / LOCAL_SOURCES);
        if (a && a->result_fd >= 0)
            start_result(a);
        break;
    case LOCAL_PROBE:
        a = by_serial(e, data / LOCAL_SOURCES);
        if (a && a->pidfd >= 0) {
            reports_read(e); /* what it said before it went comes first */
            stop_probe_gone(e, a);
        }
        break;
    case LOCAL_GPUS:
        local_devices_watch(e);
        break;
    case LOCAL_SOURCES:
        break;
    }
}

static void forget_over(struct local_engine *e)
{
    size_t kept = 0;

    for (size_t i = 0; i < e->attempts.count; i++) {
        struct attempt *a = e->attempts.items[i];

        if (a->state == ATTEMPT_OVER)
            attempt_destroy(a);
        else
            e->attempts.items[kept++] = a;
    }
    e->attempts.count = kept;
}

/* What is due by now, and when the next thing is. */
static double advance(struct local_engine *e, double now)
{
    double next;

    if (now >= e->next_look_s) {
        look_at_all(e);
        e->next_look_s = now + LOOK_EVERY_S;
    }
    if (now >= e->next_power_s) {
        device_power_tick(e->power, now, &e->outbox);
        e->next_power_s = now + e->options.power_every_s;
    }
    next = e->next_power_s;
    for (size_t i = 0; i < e->attempts.count; i++) {
        struct attempt *a = e->attempts.items[i];

        stop_advance(e, a, now);
        if (a->state == ATTEMPT_SWEEPING && stop_sweep(e, a))
            finish(e, a);
        next = fmin(next,
                    a->state == ATTEMPT_SWEEPING ? now + SWEEP_EVERY_S : e->next_look_s);
        if (a->stop != ATTEMPT_WANTED && a->state != ATTEMPT_SWEEPING)
            next = fmin(next, a->deadline_s);
    }
    forget_over(e);
    return next;
}

static void arm(struct local_engine *e, double next)
{
    double wait = fmax(next - clock_wall_s(), 0.001);
    struct itimerspec when = {
        .it_value = {.tv_sec = (time_t)wait,
                     .tv_nsec = (long)((wait - floor(wait)) * 1e9)}};

    timerfd_settime(e->timer_fd, 0, &when, NULL);
}

static void op_dispatch(void *self, double now_s)
{
    struct local_engine *e = self;
    struct epoll_event events[BATCH];
    int count = epoll_wait(e->epoll_fd, events, BATCH, 0);

    (void)
        now_s; /* our deadlines are on the monotonic clock, our events since the epoch */
    for (int i = 0; i < count; i++)
        handle(e, events[i].data.u64);
    arm(e, advance(e, clock_wall_s()));
    outbox_deliver(&e->outbox, &e->sink);
}

static int op_fd(void *self)
{
    const struct local_engine *e = self;

    return e->epoll_fd;
}

static int op_cluster(void *self, struct cluster **cluster, struct err *err)
{
    return local_devices_cluster(self, cluster, err);
}

static int op_start(void *self, const struct engine_job *job, struct err *err)
{
    return start_job(self, job, err);
}

static int op_stop(void *self, uint64_t job, enum engine_stop how, struct err *err)
{
    struct attempt *a = local_attempt_of(self, job);

    if (!a)
        return err_set(err, ERR_NOT_FOUND, "job %llu does not run here",
                       (unsigned long long)job);
    stop_begin(self, a, how);
    local_kick(self);
    return 0;
}

static int op_cap(void *self, int device, double watts, struct err *err)
{
    return local_devices_cap(self, device, watts, err);
}

static int op_wake(void *self, int node, struct err *err)
{
    (void)self;
    (void)node;
    return err_set(err, ERR_UNSUPPORTED,
                   "the daemon runs on this machine, so it is awake");
}

static int op_sleep(void *self, int node, struct err *err)
{
    (void)self;
    (void)node;
    return err_set(err, ERR_UNSUPPORTED,
                   "the daemon runs on this machine and cannot put it to sleep");
}

static int op_adopt(void *self, const struct engine_job *job, struct err *err)
{
    return adopt_job(self, job, err);
}

static void op_adopted(void *self)
{
    adopt_end(self);
}

static void close_fd(int fd)
{
    if (fd >= 0)
        close(fd);
}

static void op_destroy(void *self)
{
    struct local_engine *e = self;

    cpu_quota_destroy(e->quota);
    vec_each (struct attempt *, at, &e->attempts)
        attempt_destroy(*at);
    vec_free(&e->attempts);
    local_devices_close(e);
    cgroups_close(e->groups);
    outbox_fini(&e->outbox);
    process_table_fini(&e->processes);
    close_fd(e->report_fd);
    close_fd(e->timer_fd);
    close_fd(e->wake_fd);
    close_fd(e->epoll_fd);
    close_fd(e->lock_fd);
    free(e->devices);
    free(e->cpus);
    free(e->state_dir);
    free(e->probe);
    free(e->node);
    free(e->search_path);
    free(e->mps_directory);
    free(e->report_path);
    free(e);
}

static const struct engine_ops ops = {
    .name = "local",
    .cluster = op_cluster,
    .fd = op_fd,
    .dispatch = op_dispatch,
    .start = op_start,
    .stop = op_stop,
    .cap = op_cap,
    .wake = op_wake,
    .sleep = op_sleep,
    .adopt = op_adopt,
    .adopted = op_adopted,
    .destroy = op_destroy,
};

/* corgi-probe beside the program that runs. */
static char *beside_us(void)
{
    char path[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
    char *slash;

    if (n <= 0)
        return mem_strdup("corgi-probe");
    path[n] = '\0';
    slash = strrchr(path, '/');
    *slash = '\0';
    return file_join(path, "corgi-probe");
}

static char *host_name(void)
{
    char name[LOOP_NAME_SIZE] = "localhost";

    gethostname(name, sizeof(name) - 1);
    return mem_strdup(name);
}

static double or_default(double value, double usual)
{
    return value > 0 ? value : usual;
}

static int take_options(struct local_engine *e, const struct local_engine_options *o,
                        struct err *err)
{
    if (!o->state_dir || o->state_dir[0] != '/')
        return err_set(err, ERR_INVALID, "the engine's state folder must be absolute");
    if (o->cpu_count < 0 || o->cpu_count > CPUS_MAX_DEVICES)
        return err_set(err, ERR_LIMIT, "%d CPU devices, want at most %d", o->cpu_count,
                       CPUS_MAX_DEVICES);
    e->options = *o;
    e->state_dir = mem_strdup(o->state_dir);
    e->probe = o->probe ? mem_strdup(o->probe) : beside_us();
    e->node = o->node ? mem_strdup(o->node) : host_name();
    e->search_path = o->search_path ? mem_strdup(o->search_path) : NULL;
    e->mps_directory = o->mps_directory ? mem_strdup(o->mps_directory) : NULL;
    e->options.window_s = or_default(o->window_s, WINDOW_S);
    e->options.power_every_s = or_default(o->power_every_s, POWER_EVERY_S);
    e->options.output_bytes = or_default(o->output_bytes, OUTPUT_BYTES);
    if (access(e->probe, X_OK) != 0)
        return err_sys(err, "cannot run %s: give its path in the config", e->probe);
    return 0;
}

static int lock_state(struct local_engine *e, struct err *err)
{
    char *path = file_join(e->state_dir, "lock");
    int rc = 0;

    if (file_make_dirs(e->state_dir, err) < 0) {
        free(path);
        return -1;
    }
    e->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (e->lock_fd < 0)
        rc = err_sys(err, "cannot open %s", path);
    else if (flock(e->lock_fd, LOCK_EX | LOCK_NB) < 0)
        rc = err_set(err, ERR_EXISTS, "another engine uses the state folder %s",
                     e->state_dir);
    free(path);
    return rc;
}

static int open_waiting(struct local_engine *e, struct err *err)
{
    e->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    e->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    e->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (e->epoll_fd < 0 || e->timer_fd < 0 || e->wake_fd < 0)
        return err_sys(err, "cannot make a descriptor to wait on");
    if (local_watch(e, e->timer_fd, LOCAL_TIMER, 0, err) < 0 ||
        local_watch(e, e->wake_fd, LOCAL_WAKE, 0, err) < 0)
        return -1;
    return reports_open(e, err);
}

static int open_limits(struct local_engine *e, struct err *err)
{
    char name[40];
    bool memory = false;

    for (int d = 0; d < e->device_count; d++)
        memory = memory || e->cpus[d].memory_bytes > 0;
    /* Two engines on one machine differ in their state folders. */
    snprintf(name, sizeof(name), "corgi-%08x", (unsigned)hash_text(e->state_dir));
    e->groups = cgroups_open(&(struct cgroups_options){
        .name = name,
        .memory = memory && !e->options.no_memory_cgroups,
        .proc = e->options.no_cgroups ? "/nonexistent" : NULL,
    });
    e->quota = cpu_quota_create(e->cpus, e->device_count, e->groups, err);
    if (!e->quota)
        return -1;
    snprintf(e->text, sizeof(e->text), "quota by %s; cgroups: %s",
             cpu_quota_method(e->quota), cgroups_text(e->groups));
    return 0;
}

int local_engine_create(struct engine *engine, const struct local_engine_options *options,
                        struct engine_sink sink, struct err *err)
{
    struct local_engine *e = mem_new(struct local_engine);

    e->sink = sink;
    e->lock_fd = e->epoll_fd = e->report_fd = e->timer_fd = e->wake_fd = -1;
    e->next_serial = 1;
    if (take_options(e, options, err) < 0 || lock_state(e, err) < 0 ||
        open_waiting(e, err) < 0 || local_devices_open(e, options, err) < 0 ||
        open_limits(e, err) < 0) {
        op_destroy(e);
        return -1;
    }
    e->next_power_s = clock_wall_s();
    arm(e, e->next_power_s);
    log_info("engine_ready", LOG_STR("engine", "local"),
             LOG_I64("devices", e->device_count), LOG_STR("limits", e->text));
    *engine = (struct engine){.ops = &ops, .self = e};
    return 0;
}

const char *local_engine_text(const struct engine *engine)
{
    const struct local_engine *e = engine->self;

    return e->text;
}
