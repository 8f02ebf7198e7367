/* watch_jobs.c - what is seen of jobs that run: reports of their probes, their processes
 *
 * Any process of a user may send to that user's socket, so the kernel is asked who did:
 * only the probe of an attempt, with its key, may speak for it.  The poller calls when a
 * report is there, and the daemon hears ENGINE_STARTED, ENGINE_MEASURED and
 * ENGINE_DEMAND.  local.c asks twice a second for a look at all processes: which belong
 * to a job, what time they have used (told to device_power.c) and how much memory they
 * hold. */
#include "engine/local/local_private.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define REFUSED_EVERY_S 60.0 /* a line in the log, at most */
#define BATCH           256  /* reports taken at a time, so that others get their turn */
#define BUFFER_BYTES                                                                     \
    (1 << 20) /* of the socket: a busy daemon loses none of a few hundred */

/* Of the busiest thread's time: less than that is no part of the work. */
#define WORKING_SHARE 0.05

/* Told of a job that did no work at all: 0 would say that nobody looked. */
#define WORK_LEAST_S 1e-9

/* Then what its processes hold is what it holds of its devices. */
static bool on_processors(const struct local_engine *e, const struct attempt *a)
{
    return e->devices[a->devices[0]].gpu < 0;
}

/* Processor time of the job's processes as of now, without the probe's own. */
static double job_cpu_s(const struct local_engine *e, const struct attempt *a)
{
    double cpu_s = 0, probe_s = process_clock_s(a->probe.pid);

    if (cgroups_cpu_s(e->groups, a->group, &cpu_s))
        return cpu_s - (isnan(probe_s) ? 0 : probe_s);
    for (size_t i = 0; i < a->members.count; i++) {
        pid_t pid = a->members.items[i].pid;
        const struct process *one = process_table_find(&e->processes, pid);
        double own_s = pid == a->probe.pid ? 0 : process_clock_s(pid);

        cpu_s += (isnan(own_s) ? 0 : own_s) + (one ? one->waited_s : 0);
    }
    return cpu_s;
}

static double thread_cpu_s(const struct process_threads *threads, pid_t id)
{
    for (size_t i = 0; i < threads->count; i++)
        if (threads->items[i].id == id)
            return threads->items[i].cpu_s;
    return 0;
}

/* How many of so many cores a service uses at once at most.  One that works on one
 * request at a time keeps one busy, however many there are: threads that did next to
 * nothing since the last call, beside the busiest, do not count. */
static double usable_cores(struct attempt *a, double cores)
{
    struct process_threads now = {0};
    double most = 0;
    int working = 0;

    for (size_t i = 0; i < a->members.count; i++)
        if (a->members.items[i].pid != a->probe.pid)
            process_threads_add(a->members.items[i].pid, &now);
    for (size_t i = 0; i < now.count; i++)
        most =
            fmax(most, now.items[i].cpu_s - thread_cpu_s(&a->threads, now.items[i].id));
    for (size_t i = 0; i < now.count; i++)
        working += now.items[i].cpu_s - thread_cpu_s(&a->threads, now.items[i].id) >=
                   WORKING_SHARE * most;
    vec_free(&a->threads);
    a->threads = now;
    return most > 0 ? fmin(cores, working) : cores;
}

/* The share of its devices' time that a job used since the last call: of cores as far as
 * the quota gives them and a service can use them, of GPUs as the driver tells.  NaN: not
 * known, as in its first window, in which a service may have read its weights. */
static double busy_share(const struct local_engine *e, struct attempt *a)
{
    double now_s = clock_wall_s(), cpu_s = job_cpu_s(e, a), cores = 0, busy = NAN;

    for (int i = 0; i < a->device_count; i++) {
        const struct local_device *d = &e->devices[a->devices[i]];

        if (d->gpu < 0)
            cores += cpus_cores(&d->cpu) * d->scale;
    }
    if (a->service && cores > 1)
        cores = usable_cores(a, cores);
    if (a->gpu_seen_s > 0)
        busy = a->gpu_busy_s / a->gpu_seen_s;
    else if (cores > 0 && now_s > a->counted_s) /* not NaN */
        busy = (cpu_s - a->counted_cpu_s) / (cores * (now_s - a->counted_s));
    a->counted_s = now_s;
    a->counted_cpu_s = cpu_s;
    a->gpu_busy_s = a->gpu_seen_s = 0;
    return isnan(busy) ? NAN : fmin(fmax(busy, 0), 1);
}

static double or_zero(double value)
{
    return isnan(value) ? 0 : value;
}

/* The job's own word on how busy it is goes before what is seen from outside. */
static void add_service(const struct probe_service *s, double busy, struct measurement *m)
{
    m->busy = or_zero(isnan(s->busy) ? busy : s->busy);
    m->latency_s = or_zero(s->latency_s);
    m->median_s = or_zero(s->median_s);
    m->held = or_zero(s->held);
}

/* What was seen of its work from outside: no job's word counts for that. */
static void add_work(const struct local_engine *e, struct attempt *a,
                     const struct probe_report *r, struct measurement *m)
{
    double busy = busy_share(e, a);

    if (!isnan(busy))
        m->worked_s = fmax(busy * r->window_s, WORK_LEAST_S);
    if (a->service)
        add_service(&r->service, busy, m);
}

static void tell_measured(struct local_engine *e, struct attempt *a,
                          const struct probe_report *r)
{
    bool demand = r->kind == PROBE_DEMAND;
    struct engine_event event =
        local_event_of(demand ? ENGINE_DEMAND : ENGINE_MEASURED, a);

    if (!(r->rate >= 0))
        return;
    event.at_s = r->at_s;
    event.steps = r->steps;
    event.source = probe_source_names[r->source]; /* static */
    event.confidence = r->confidence;
    event.measurement = (struct measurement){
        .job = a->job,
        .at_s = r->at_s,
        .window_s = r->window_s,
        .rate = r->rate,
        .device_watts = demand ? NAN : e->devices[a->devices[0]].watts,
        .memory_gb = on_processors(e, a) ? a->rss_bytes / 1e9 / a->device_count : 0,
    };
    if (!demand)
        add_work(e, a, r, &event.measurement);
    local_tell(e, event, NULL);
}

/* ---- reports ----------------------------------------------------------------------
 *
 * Every user whose jobs run here has a socket of their own, which only they can write to:
 * nobody can fill another's. */

static struct attempt *attempt_of_probe(const struct local_engine *e, pid_t pid)
{
    vec_each (struct attempt *const, at, &e->attempts)
        if ((*at)->probe.pid == pid && (*at)->state != ATTEMPT_OVER && !(*at)->nobody)
            return *at;
    return NULL;
}

/* One line a minute, however much comes. */
static void refuse(struct report_socket *s, const struct ucred *from, const char *why)
{
    double now_s = clock_wall_s();

    s->refused++;
    if (now_s - s->said_s < REFUSED_EVERY_S)
        return;
    log_warn("engine_reports_refused", LOG_U64("uid", s->uid),
             LOG_U64("count", s->refused), LOG_I64("last_from", from->pid),
             LOG_STR("last_why", why));
    s->said_s = now_s;
    s->refused = 0;
}

/* Who sent it is asked before a byte of it is read. */
static void take(struct report_socket *s, const char *line, size_t length,
                 const struct ucred *from)
{
    struct local_engine *e = s->engine;
    struct attempt *a = attempt_of_probe(e, from->pid);
    struct probe_report r;
    struct err err;

    if (!a || a->uid != from->uid) {
        refuse(s, from, "it is not of a probe");
    } else if (probe_report_parse(&r, line, length, &err) < 0) {
        refuse(s, from, err.text);
    } else if (r.job != a->job || r.attempt != a->number || !attempt_has_key(a, r.key)) {
        refuse(s, from, "it is not of this probe's attempt");
    } else {
        if (r.kind != PROBE_ENDED) /* which also comes when it could not be started */
            start_tell(e, a);
        if (r.kind == PROBE_RATE || r.kind == PROBE_DEMAND)
            tell_measured(e, a, &r);
    }
}

static struct ucred sender_of(struct msghdr *message)
{
    struct ucred who = {.pid = 0, .uid = (uid_t)-1};

    for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c))
        if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_CREDENTIALS)
            memcpy(&who, CMSG_DATA(c), sizeof(who));
    return who;
}

static void hear(struct report_socket *s)
{
    for (int i = 0; i < BATCH; i++) {
        char line[PROBE_REPORT_MAX_LINE + 1];
        union {
            char bytes[CMSG_SPACE(sizeof(struct ucred))];
            struct cmsghdr align;
        } control;
        struct iovec io = {line, sizeof(line)};
        struct msghdr message = {.msg_iov = &io,
                                 .msg_iovlen = 1,
                                 .msg_control = &control,
                                 .msg_controllen = sizeof(control)};
        ssize_t n = recvmsg(s->fd, &message, MSG_CMSG_CLOEXEC);
        struct ucred from;

        if (n < 0)
            return;
        from = sender_of(&message);
        take(s, line, (size_t)n, &from);
    }
}

void watch_reports(struct local_engine *e)
{
    vec_each (struct report_socket *, at, &e->sockets)
        hear(*at);
}

static void on_reports(void *ctx, uint32_t events)
{
    (void)events;
    hear(ctx);
}

static int bind_socket(const struct report_socket *s, const struct sockaddr_un *address,
                       struct err *err)
{
    int on = 1, bytes = BUFFER_BYTES;

    unlink(address->sun_path); /* of an engine before us: we hold the lock */
    if (bind(s->fd, (const struct sockaddr *)address, sizeof(*address)) < 0)
        return err_sys(err, "cannot make %s", address->sun_path);
    if (chmod(address->sun_path, 0600) < 0 ||
        (geteuid() == 0 && chown(address->sun_path, s->uid, (gid_t)-1) < 0))
        return err_sys(err, "cannot open %s to probes", address->sun_path);
    if (setsockopt(s->fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) < 0)
        return err_sys(err, "cannot ask who sends to %s", address->sun_path);
    setsockopt(s->fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
    return 0;
}

static void close_socket(struct report_socket *s)
{
    poller_set(s->engine->poller, &s->watch, -1, 0);
    if (s->fd >= 0)
        close(s->fd);
    free(s->path);
    free(s);
}

static int open_socket(struct report_socket *s, struct err *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    if (!str_copy(address.sun_path, sizeof(address.sun_path), s->path))
        return err_set(err, ERR_LIMIT,
                       "the state folder %s is too long for a socket in it: want at most "
                       "%zu bytes",
                       s->engine->state_dir,
                       sizeof(address.sun_path) - sizeof("/report-4294967295.sock"));
    s->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (s->fd < 0)
        return err_sys(err, "cannot make a socket");
    if (bind_socket(s, &address, err) < 0)
        return -1;
    return local_watch(s->engine, &s->watch, s->fd, on_reports, s, err);
}

const char *watch_listen(struct local_engine *e, uid_t uid, struct err *err)
{
    struct report_socket *s;
    struct str path = {0};

    vec_each (struct report_socket *, at, &e->sockets)
        if ((*at)->uid == uid)
            return (*at)->path;
    s = mem_new(struct report_socket);
    s->engine = e;
    s->uid = uid;
    s->fd = s->watch.fd = -1;
    s->said_s = -INFINITY;
    str_addf(&path, "%s/report-%u.sock", e->state_dir, (unsigned)uid);
    s->path = str_take(&path);
    if (open_socket(s, err) < 0) {
        close_socket(s);
        return NULL;
    }
    vec_push(&e->sockets, s);
    return s->path;
}

void watch_close(struct local_engine *e)
{
    vec_each (struct report_socket *, at, &e->sockets)
        close_socket(*at);
    vec_free(&e->sockets);
}

/* ---- processes --------------------------------------------------------------------- */

/* Resident memory and processor time of the members that are there. */
static double count_members(struct local_engine *e, struct attempt *a)
{
    double cpu_s = 0;

    a->rss_bytes = 0;
    for (size_t i = 0; i < a->members.count; i++) {
        const struct process *one =
            process_table_find(&e->processes, a->members.items[i].pid);

        if (!one)
            continue;
        cpu_s += one->cpu_s;
        if (one->id.pid != a->probe.pid)
            a->rss_bytes += one->rss_bytes;
    }
    return cpu_s;
}

/* A job on several devices used them in proportion to what they give; where a job that
 * nobody named runs is not known. */
static void share_cpu(struct local_engine *e, const struct attempt *a, double cpu_s)
{
    double all = 0;

    for (int i = 0; i < a->device_count && !a->nobody; i++)
        all += cpus_cores(&e->devices[a->devices[i]].cpu);
    for (int i = 0; i < a->device_count && all > 0; i++) {
        struct local_device *d = &e->devices[a->devices[i]];

        device_power_used(d, a->job, cpu_s * cpus_cores(&d->cpu) / all);
    }
}

static void count_cpu(struct local_engine *e, struct attempt *a, double by_members)
{
    double now = by_members;

    cgroups_cpu_s(e->groups, a->group, &now);
    if (!isnan(a->cpu_s) && now > a->cpu_s)
        share_cpu(e, a, now - a->cpu_s);
    /* Processes that nobody waited for take their time with them: never backwards. */
    a->cpu_s = isnan(a->cpu_s) ? now : fmax(now, a->cpu_s);
}

void watch_at_end(struct local_engine *e, struct attempt *a)
{
    if (!isnan(a->cpu_s))
        count_cpu(e, a, a->cpu_s);
}

static double memory_of(const struct local_engine *e, const struct attempt *a)
{
    double bytes = 0;

    for (int i = 0; i < a->device_count; i++)
        bytes += e->devices[a->devices[i]].cpu.memory_bytes;
    return bytes;
}

static void kill_for_memory(struct local_engine *e, struct attempt *a, double used,
                            double limit)
{
    a->out_of_memory = true;
    attempt_explain(a, "out of memory: %.2f GB were used of the %.2f GB of its device",
                    used / 1e9, limit / 1e9);
    stop_kill_members(e, a);
}

/* Where the kernel does not limit the memory of a device, we do: the largest job on it
 * has to go, as the kernel would choose. */
static void watch_memory(struct local_engine *e, int device)
{
    double used = 0, limit = e->devices[device].cpu.memory_bytes;
    struct attempt *largest = NULL;

    for (size_t i = 0; i < e->attempts.count; i++) {
        struct attempt *a = e->attempts.items[i];

        if (a->state != ATTEMPT_RUNNING || a->device_count != 1 ||
            a->devices[0] != device || a->out_of_memory)
            continue;
        used += a->rss_bytes;
        if (!largest || a->rss_bytes > largest->rss_bytes)
            largest = a;
    }
    if (largest && used > limit)
        kill_for_memory(e, largest, used, limit);
}

static void watch_gang(struct local_engine *e, struct attempt *a)
{
    double limit = memory_of(e, a);

    if (a->device_count > 1 && limit > 0 && a->rss_bytes > limit && !a->out_of_memory)
        kill_for_memory(e, a, a->rss_bytes, limit);
}

void watch_for_start(struct local_engine *e, struct attempt *a)
{
    struct process_id probe, child;

    if (a->state == ATTEMPT_RUNNING && !a->told_start &&
        attempt_read_pids(a, &probe, &child) && child.pid > 0 &&
        probe.pid == a->probe.pid)
        start_tell(e, a);
}

void watch_processes(struct local_engine *e)
{
    struct err err = {0};

    if (e->attempts.count == 0)
        return;
    if (process_table_read(&e->processes, &err) < 0) {
        log_warn("engine_proc_unreadable", LOG_ERR(&err));
        return;
    }
    vec_each (struct attempt *, at, &e->attempts) {
        struct attempt *a = *at;

        process_table_collect(&e->processes, &a->members, getsid(0));
        count_cpu(e, a, count_members(e, a));
        watch_for_start(e, a);
    }
    for (size_t i = 0; i < e->attempts.count; i++)
        watch_gang(e, e->attempts.items[i]);
    for (int d = 0; d < e->device_count && !cgroups_limit_memory(e->groups); d++)
        if (e->devices[d].cpu.memory_bytes > 0)
            watch_memory(e, d);
}
