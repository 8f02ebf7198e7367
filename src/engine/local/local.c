/* local.c - the local engine's operations and its one place of waiting, see local.h
 *
 * The daemon calls the operations when a round is carried out, and op_dispatch() when the
 * engine's descriptor is readable.  The poller calls the other
 * parts of the engine; what they tell is queued and reaches the daemon's sink at the end
 * of a dispatch. */
#include "engine/local/local.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/parse.h"
#include "engine/local/local_private.h"

#include <dirent.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define LOOK_EVERY_S  0.5  /* a look at all processes, while there are jobs */
#define SWEEP_EVERY_S 0.02 /* while processes are being killed */

/* Looks happen on the thread that answers everybody, and take as long as there are
 * processes, which are the users' to start: pauses are so many times as long. */
#define PAUSE_TIMES  100
#define PAUSE_MOST_S 5.0

int local_watch(struct local_engine *e, struct poller_watch *watch, int fd,
                void (*ready)(void *ctx, uint32_t events), void *ctx, struct err *err)
{
    *watch = (struct poller_watch){.fd = -1, .ready = ready, .ctx = ctx};
    poller_set(e->poller, watch, fd, EPOLLIN);
    return watch->fd == fd ? 0 : err_sys(err, "cannot watch a descriptor");
}

void local_kick(struct local_engine *e)
{
    uint64_t one = 1;
    ssize_t n = write(e->wake_fd, &one, sizeof(one));

    (void)n; /* full: then it is awake already */
}

struct engine_event local_event(enum engine_event_kind kind)
{
    return (struct engine_event){
        .kind = kind,
        .at_s = clock_epoch_s(),
        .device = -1,
        .steps = NAN,
        .source = "",
        .confidence = NAN,
        .watts = NAN,
        .joules = NAN,
        .measurement = {.rate = NAN, .window_s = NAN, .device_watts = NAN},
        .text = "",
    };
}

struct engine_event local_event_of(enum engine_event_kind kind, const struct attempt *a)
{
    struct engine_event event = local_event(kind);

    event.job = a->job;
    event.attempt = a->number;
    event.device = a->devices[0];
    return event;
}

void local_tell(struct local_engine *e, struct engine_event event, const char *text)
{
    struct queued_event queued = {.event = event, .text = mem_strdup(text ? text : "")};

    if (event.share_count > 0)
        queued.shares =
            mem_dup(event.shares, (size_t)event.share_count, sizeof(*event.shares));
    vec_push(&e->queue, queued);
    local_kick(e);
}

static void deliver(struct local_engine *e)
{
    for (size_t i = 0; i < e->queue.count; i++) { /* the sink may cause more */
        struct queued_event queued = e->queue.items[i];

        queued.event.text = queued.text;
        queued.event.shares = queued.shares;
        e->sink.event(e->sink.ctx, &queued.event);
        free(queued.text);
        free(queued.shares);
    }
    vec_clear(&e->queue);
}

void local_warn(struct local_engine *e, uint64_t job, const char *format, ...)
{
    struct engine_event event = local_event(ENGINE_WARNING);
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
        if (e->devices[a->devices[i]].booking)
            energy_booking_join(e->devices[a->devices[i]].booking, a->job,
                                clock_wall_s());
    e->next_look_s = 0;
    local_kick(e);
}

int local_check_devices(const struct local_engine *e, const struct engine_job *job,
                        struct err *err)
{
    if (job->device_count < 1 || job->device_count > LOOP_MAX_GANG)
        return err_set(err, ERR_INVALID, "the job has %d devices, want 1 to %d",
                       job->device_count, LOOP_MAX_GANG);
    for (int i = 0; i < job->device_count; i++)
        if (job->devices[i] < 0 || job->devices[i] >= e->device_count)
            return err_set(err, ERR_INVALID, "there is no device %d", job->devices[i]);
    return 0;
}

/* The timer and the eventfd only wake the daemon: op_dispatch() does what is due. */
static void on_woken(void *ctx, uint32_t events)
{
    const struct poller_watch *watch = ctx;
    uint64_t count;
    ssize_t n = read(watch->fd, &count, sizeof(count));

    (void)events;
    (void)n; /* nothing there is fine */
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

/* When to do again what has taken so much of the processor. */
static double again_s(double now_s, double cpu_s, double every_s)
{
    return now_s + fmin(fmax(every_s, PAUSE_TIMES * cpu_s), PAUSE_MOST_S);
}

/* All that are being killed. */
static void sweep(struct local_engine *e, double now)
{
    double cpu_s = clock_cpu_s();

    for (size_t i = 0; i < e->attempts.count; i++)
        if (e->attempts.items[i]->state == ATTEMPT_SWEEPING)
            stop_sweep(e, e->attempts.items[i]);
    e->next_sweep_s = again_s(now, clock_cpu_s() - cpu_s, SWEEP_EVERY_S);
}

/* Do all that is due by now; returns when the next thing is. */
static double advance(struct local_engine *e, double now)
{
    double cpu_s = clock_cpu_s(), next;

    if (now >= e->next_look_s) {
        watch_processes(e);
        e->next_look_s = again_s(now, clock_cpu_s() - cpu_s, LOOK_EVERY_S);
    }
    if (now >= e->next_power_s) {
        device_power_tell(e, now);
        e->next_power_s = now + e->options.power_every_s;
    }
    next = e->next_power_s;
    if (now >= e->next_sweep_s)
        sweep(e, now);
    for (size_t i = 0; i < e->attempts.count; i++) {
        struct attempt *a = e->attempts.items[i];

        stop_advance(e, a, now);
        next =
            fmin(next, a->state == ATTEMPT_SWEEPING ? e->next_sweep_s : e->next_look_s);
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

    (void)now_s; /* deadlines are on the monotonic clock, events since the epoch */
    poller_wait(e->poller, 0);
    arm(e, advance(e, clock_wall_s()));
    deliver(e);
}

static int op_fd(void *self)
{
    const struct local_engine *e = self;

    return e->poller;
}

static int op_stop(void *self, uint64_t job, enum engine_stop how, struct err *err)
{
    struct attempt *a = local_attempt_of(self, job);

    if (!a)
        return err_set(err, ERR_NOT_FOUND, "job %llu does not run here",
                       (unsigned long long)job);
    stop_begin(a, how);
    local_kick(self);
    return 0;
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

static void close_fd(int fd)
{
    if (fd >= 0)
        close(fd);
}

static void op_destroy(void *self)
{
    struct local_engine *e = self;

    cpu_quota_close(e);
    vec_each (struct attempt *, at, &e->attempts)
        attempt_destroy(*at);
    vec_free(&e->attempts);
    local_devices_close(e);
    cgroups_close(e->groups);
    vec_each (struct queued_event, queued, &e->queue) {
        free(queued->text);
        free(queued->shares);
    }
    vec_free(&e->queue);
    process_table_fini(&e->processes);
    watch_close(e);
    close_fd(e->timer_fd);
    close_fd(e->wake_fd);
    close_fd(e->poller);
    close_fd(e->lock_fd);
    free(e->state_dir);
    free(e->probe);
    free(e->node);
    free(e);
}

static char *op_output(void *self, uint64_t job, int attempt)
{
    struct attempt *a = attempt_create_nobody(self, job, attempt);
    char *path = file_join(a->dir, ATTEMPT_OUTPUT);

    attempt_destroy(a);
    return path;
}

/* Folders of jobs stay when they have ended, whatever became of the store. */
static uint64_t op_last_job(void *self)
{
    const struct local_engine *e = self;
    char *path = file_join(e->state_dir, "jobs");
    DIR *dir = opendir(path);
    const struct dirent *entry;
    uint64_t last = 0, job;

    while (dir && (entry = readdir(dir)))
        if (parse_u64(entry->d_name, &job) && job > last && job <= INT64_MAX)
            last = job;
    if (dir)
        closedir(dir);
    free(path);
    return last;
}

static const struct engine_ops ops = {
    .name = "local",
    .cluster = local_devices_cluster,
    .fd = op_fd,
    .dispatch = op_dispatch,
    .start = start_job,
    .stop = op_stop,
    .cap = local_devices_cap,
    .output = op_output,
    .wake = op_wake,
    .sleep = op_sleep,
    .last_job = op_last_job,
    .adopt = adopt_job,
    .adopted = adopt_end,
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

static int take_options(struct local_engine *e, const struct local_engine_options *o,
                        struct err *err)
{
    if (!o->state_dir || o->state_dir[0] != '/')
        return err_set(err, ERR_INVALID, "the engine's state folder must be absolute");
    e->options = *o;
    e->state_dir = mem_strdup(o->state_dir);
    e->probe = o->probe ? mem_strdup(o->probe) : beside_us();
    e->node = o->node ? mem_strdup(o->node) : host_name();
    if (access(e->probe, X_OK) != 0)
        return err_sys(err, "cannot run %s: give its path in the config", e->probe);
    return 0;
}

static int lock_state(struct local_engine *e, struct err *err)
{
    char *path = file_join(e->state_dir, "engine");

    if (file_make_dirs(e->state_dir, err) == 0)
        e->lock_fd = file_lock(path, err);
    free(path);
    return e->lock_fd < 0 ? -1 : 0;
}

static int open_waiting(struct local_engine *e, struct err *err)
{
    e->poller = poller_open(err);
    e->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    e->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (e->poller < 0 || e->timer_fd < 0 || e->wake_fd < 0)
        return err_sys(err, "cannot make a descriptor to wait on");
    if (local_watch(e, &e->timer, e->timer_fd, on_woken, &e->timer, err) < 0 ||
        local_watch(e, &e->wake, e->wake_fd, on_woken, &e->wake, err) < 0)
        return -1;
    return 0;
}

static int open_limits(struct local_engine *e, struct err *err)
{
    char name[40];
    bool memory = false;

    for (int d = 0; d < e->device_count; d++)
        memory = memory || e->devices[d].cpu.memory_bytes > 0;
    /* Two engines on one machine differ in their state folders. */
    snprintf(name, sizeof(name), "corgi-%08x", (unsigned)hash_text(e->state_dir));
    e->groups = cgroups_open(&(struct cgroups_options){
        .name = name,
        .memory = memory && e->options.memory_cgroups,
        .proc = e->options.cgroups ? NULL : "/nonexistent",
    });
    return cpu_quota_open(e, err);
}

int local_engine_create(struct engine *engine, const struct local_engine_options *options,
                        struct engine_sink sink, struct err *err)
{
    struct local_engine *e = mem_new(struct local_engine);
    char limits[200];

    e->sink = sink;
    e->power_s = NAN;
    e->lock_fd = e->poller = e->timer_fd = e->wake_fd = -1;
    if (take_options(e, options, err) < 0 || lock_state(e, err) < 0 ||
        open_waiting(e, err) < 0 || local_devices_open(e, err) < 0 ||
        open_limits(e, err) < 0) {
        op_destroy(e);
        return -1;
    }
    e->next_power_s = clock_wall_s();
    arm(e, e->next_power_s);
    snprintf(limits, sizeof(limits), "quota by %s; cgroups: %s", e->quota_by,
             cgroups_text(e->groups));
    log_info("engine_ready", LOG_STR("engine", "local"),
             LOG_I64("devices", e->device_count), LOG_STR("limits", limits));
    *engine = (struct engine){.ops = &ops, .self = e};
    return 0;
}
