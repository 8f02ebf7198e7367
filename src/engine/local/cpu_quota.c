/* cpu_quota.c - which job may use how much of the processor, and how that is kept
 *
 * Jobs on one CPU device share its quota and so really interfere.  A job on several
 * devices cannot be in the groups of all of them: it gets a group of its own with its
 * part of each device, and what the others on these devices have becomes less by it.
 * start.c and adopt.c let a job join, stop.c lets it leave, local_devices.c caps a
 * device; the parts of all jobs are set anew each time, by cgroups.c or, where cgroups
 * are closed, by a thread that stops and continues their processes. */
#include "engine/local/local_private.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/thread.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- less than a whole processor by stop and continue ------------------------------
 *
 * Groups of jobs have a budget of processor time a period.  A thread watches what their
 * processes use, stops all of them when it is used up (SIGSTOP) and lets them go on in
 * the next period (SIGCONT); what was used beyond is taken from the next budget, so that
 * the mean is right.  The processes are the ones below each job's probe; the probe itself
 * is never stopped.  Should this process be killed, jobs may stand still until the next
 * one adopts them: cgroups have no such gap. */

#define PERIOD_S    0.04
#define MIN_CHECK_S 0.002 /* between two looks at what was used */
#define MAX_DEBT    4     /* periods; more is forgiven, as it was nobody's intention */
#define MAX_PASSES  8     /* a process that forks while it is being stopped */

struct throttle_member {
    pid_t pid;
    double cpu_s; /* when last seen */
    bool seen;    /* in the present look */
};

struct throttle_group {
    int id;
    double cores; /* 0: no limit */
    vec_of(pid_t) probes;
    vec_of(struct throttle_member) members;
    double period_s; /* when the present one began */
    double looked_s; /* when what is used was last counted */
    double left_s;   /* of its budget */
    double wake_s;   /* when to look again */
    bool stopped;
};

struct cpu_throttle {
    pthread_t thread;
    pthread_mutex_t lock; /* guards all below */
    pthread_cond_t changed;
    vec_of(struct throttle_group) groups;
    bool quit;
};

static struct throttle_member *member_of(struct throttle_group *g, pid_t pid)
{
    vec_each (struct throttle_member, m, &g->members)
        if (m->pid == pid)
            return m;
    return NULL;
}

/* One look at the processes.  Adds what they used since the last to *used; true when a
 * process came or went, so that some use may have been missed.  A process that is new
 * below a known one used all its time within this group's time. */
static bool look(struct throttle_group *g, double *used)
{
    struct process_children list = {0};
    bool changed = false;
    size_t kept = 0;

    vec_each (pid_t, probe, &g->probes)
        process_children_add(*probe, &list);
    vec_each (struct throttle_member, m, &g->members)
        m->seen = false;
    for (size_t i = 0; i < list.count; i++) {
        double cpu_s = process_clock_s(list.items[i]);
        struct throttle_member *m = member_of(g, list.items[i]);

        if (isnan(cpu_s))
            continue;
        if (!m) {
            changed = true;
            vec_push(&g->members, (struct throttle_member){list.items[i], 0, true});
            m = &g->members.items[g->members.count - 1];
        }
        *used += fmax(cpu_s - m->cpu_s, 0);
        m->cpu_s = cpu_s;
        m->seen = true;
    }
    for (size_t i = 0; i < g->members.count; i++)
        if (g->members.items[i].seen)
            g->members.items[kept++] = g->members.items[i];
    changed = changed || kept != g->members.count;
    g->members.count = kept;
    free(list.items);
    return changed;
}

static void signal_all(struct throttle_group *g, int signal)
{
    vec_each (struct throttle_member, m, &g->members)
        kill(m->pid, signal);
}

/* Time that came and went between two looks is not on any clock we can read: count at
 * least one core for the whole of it. */
static void charge(struct throttle_group *g, double now)
{
    double used = 0;
    bool changed = look(g, &used);

    if (changed && !g->stopped)
        used = fmax(used, fmin(now - g->looked_s, PERIOD_S));
    g->left_s -= used;
    g->looked_s = now;
}

static void stop(struct throttle_group *g)
{
    double ignored = 0;

    g->stopped = true;
    signal_all(g, SIGSTOP);
    for (int pass = 0; pass < MAX_PASSES && look(g, &ignored); pass++)
        signal_all(g, SIGSTOP);
    g->left_s -= ignored;
}

static void begin_period(struct throttle_group *g, double now)
{
    double budget = g->cores * PERIOD_S;
    double behind = floor((now - g->period_s) / PERIOD_S);

    /* When this thread got no processor for some periods, so did the jobs or they ran on
     * somebody else's time: both are made up for by what they are charged. */
    g->period_s += fmax(behind, 1) * PERIOD_S;
    g->left_s = fmin(g->left_s + fmax(behind, 1) * budget, budget);
    g->left_s = fmax(g->left_s, -MAX_DEBT * budget);
    if (g->left_s > 0 && g->stopped) {
        g->stopped = false;
        g->looked_s = now;
        signal_all(g, SIGCONT);
    }
}

static void release(struct throttle_group *g)
{
    if (g->stopped)
        signal_all(g, SIGCONT);
    g->stopped = false;
}

static void serve(struct throttle_group *g, double now)
{
    if (g->cores <= 0 || g->probes.count == 0) {
        release(g);
        vec_clear(&g->members);
        g->wake_s = INFINITY;
        return;
    }
    if (!g->stopped)
        charge(g, now);
    if (now >= g->period_s + PERIOD_S)
        begin_period(g, now);
    if (g->left_s <= 0 && !g->stopped)
        stop(g);
    g->wake_s = g->period_s + PERIOD_S;
    if (!g->stopped) /* at the earliest moment at which the budget can be used up */
        g->wake_s =
            fmin(g->wake_s, now + fmax(g->left_s / fmax(g->cores, 1), MIN_CHECK_S));
}

static void *run(void *arg)
{
    struct cpu_throttle *d = arg;

    pthread_mutex_lock(&d->lock);
    while (!d->quit) {
        double now = clock_wall_s(), wake = INFINITY;

        vec_each (struct throttle_group, g, &d->groups) {
            if (now >= g->wake_s)
                serve(g, now);
            wake = fmin(wake, g->wake_s);
        }
        if (isinf(wake))
            pthread_cond_wait(&d->changed, &d->lock);
        else
            thread_wait_until(&d->changed, &d->lock, wake);
    }
    pthread_mutex_unlock(&d->lock);
    return NULL;
}

/* NULL: no thread could be started. */
static struct cpu_throttle *throttle_create(struct err *err)
{
    struct cpu_throttle *d = mem_new(struct cpu_throttle);

    pthread_mutex_init(&d->lock, NULL);
    thread_cond_init(&d->changed);
    errno = thread_start(&d->thread, run, d);
    if (errno == 0)
        return d;
    err_sys(err, "cannot start the thread that shares out processor time");
    pthread_cond_destroy(&d->changed);
    pthread_mutex_destroy(&d->lock);
    free(d);
    return NULL;
}

/* All that is stopped goes on.  NULL is fine. */
static void throttle_destroy(struct cpu_throttle *d)
{
    if (!d)
        return;
    pthread_mutex_lock(&d->lock);
    d->quit = true;
    pthread_cond_signal(&d->changed);
    pthread_mutex_unlock(&d->lock);
    pthread_join(d->thread, NULL);
    vec_each (struct throttle_group, g, &d->groups) {
        release(g);
        vec_free(&g->probes);
        vec_free(&g->members);
    }
    vec_free(&d->groups);
    pthread_cond_destroy(&d->changed);
    pthread_mutex_destroy(&d->lock);
    free(d);
}

/* Call with the lock held. */
static struct throttle_group *group_of(struct cpu_throttle *d, int id)
{
    vec_each (struct throttle_group, g, &d->groups)
        if (g->id == id)
            return g;
    vec_push(&d->groups, (struct throttle_group){.id = id, .wake_s = INFINITY});
    return &d->groups.items[d->groups.count - 1];
}

/* Cores of processor time a second for the jobs of this group; 0: no limit. */
static void throttle_set(struct cpu_throttle *d, int group, double cores)
{
    struct throttle_group *g;

    pthread_mutex_lock(&d->lock);
    g = group_of(d, group);
    g->cores = cores;
    g->wake_s = 0;
    pthread_cond_signal(&d->changed);
    pthread_mutex_unlock(&d->lock);
}

/* A job's probe belongs to the group, from now until it is removed. */
static void throttle_add(struct cpu_throttle *d, int group, pid_t probe)
{
    struct throttle_group *g;
    double ignored = 0;

    pthread_mutex_lock(&d->lock);
    g = group_of(d, group);
    if (g->probes.count == 0) {
        g->period_s = g->looked_s = clock_wall_s();
        g->left_s = g->cores * PERIOD_S;
    }
    vec_push(&g->probes, probe);
    look(g, &ignored); /* an adopted job is not charged for what it used before */
    if (g->stopped)
        signal_all(g, SIGSTOP);
    else
        signal_all(g, SIGCONT); /* its engine may have died while it was stopped */
    g->wake_s = 0;
    pthread_cond_signal(&d->changed);
    pthread_mutex_unlock(&d->lock);
}

static void throttle_remove(struct cpu_throttle *d, pid_t probe)
{
    pthread_mutex_lock(&d->lock);
    vec_each (struct throttle_group, g, &d->groups)
        for (size_t i = 0; i < g->probes.count; i++) {
            if (g->probes.items[i] != probe)
                continue;
            release(g); /* while its processes are still in the list */
            g->probes.items[i] = g->probes.items[--g->probes.count];
            g->wake_s = 0;
        }
    pthread_cond_signal(&d->changed);
    pthread_mutex_unlock(&d->lock);
}

/* ---- parts of devices -------------------------------------------------------------- */

int cpu_quota_open(struct local_engine *e, struct err *err)
{
    int cores = 0;

    /* A group counts as one process against all others of the machine: ours together
     * must count as many as they have cores, or a busy machine starves the devices. */
    for (int d = 0; d < e->device_count; d++)
        cores += e->devices[d].cpu.core_count;
    if (cores > 0)
        cgroups_set_weight(e->groups, "", cores);
    e->quota_by = cores == 0 ? "none" : "cgroup";
    if (cores == 0 || cgroups_limit_cpu(e->groups))
        return 0;
    e->quota_by = "throttle cycle";
    e->throttle = throttle_create(err);
    return e->throttle ? 0 : -1;
}

void cpu_quota_close(struct local_engine *e)
{
    throttle_destroy(e->throttle);
    vec_free(&e->seated);
}

static bool sits_on(const struct attempt *a, int device)
{
    for (int i = 0; i < a->device_count; i++)
        if (a->devices[i] == device)
            return true;
    return false;
}

int cpu_quota_jobs_on(const struct local_engine *e, int device)
{
    int count = 0;

    vec_each (struct attempt *const, a, &e->seated)
        count += sits_on(*a, device);
    return count;
}

static int gangs_on(const struct local_engine *e, int device)
{
    int count = 0;

    vec_each (struct attempt *const, a, &e->seated)
        count += (*a)->device_count > 1 && sits_on(*a, device);
    return count;
}

static void limit(struct local_engine *e, const char *path, int group, double cores)
{
    struct err err;

    if (e->throttle)
        throttle_set(e->throttle, group, cores);
    else if (cgroups_set_cpu(e->groups, path, cores, &err) < 0)
        log_warn("engine_quota_not_set", LOG_STR("group", path), LOG_ERR(&err));
}

static double cores_of(const struct local_device *d)
{
    return cpus_cores(&d->cpu) * d->scale;
}

/* Cores of a device that are left for the jobs on no other device.  A whole quota is kept
 * by the cores themselves: stopping would only cost. */
static double left_for_singles(const struct local_engine *e, int device)
{
    int jobs = cpu_quota_jobs_on(e, device), gangs = gangs_on(e, device);
    double part = gangs > 0 && gangs < jobs ? (double)(jobs - gangs) / jobs : 1;
    double cores = cores_of(&e->devices[device]) * part;

    return e->throttle && cores >= e->devices[device].cpu.core_count ? 0 : cores;
}

static double part_of_gang(const struct local_engine *e, const struct attempt *a)
{
    double cores = 0;

    for (int i = 0; i < a->device_count; i++)
        if (e->devices[a->devices[i]].cpu.core_count > 0)
            cores += cores_of(&e->devices[a->devices[i]]) /
                     cpu_quota_jobs_on(e, a->devices[i]);
    return cores;
}

static void share_out(struct local_engine *e)
{
    char path[32];

    for (int d = 0; d < e->device_count; d++) {
        int cores = e->devices[d].cpu.core_count;

        if (cores == 0 || cpu_quota_jobs_on(e, d) == gangs_on(e, d))
            continue;
        snprintf(path, sizeof(path), "device-%d", d);
        cgroups_set_weight(e->groups, path, cores);
        limit(e, path, d, left_for_singles(e, d));
    }
    vec_each (struct attempt *, a, &e->seated)
        if ((*a)->device_count > 1 && part_of_gang(e, *a) > 0)
            limit(e, (*a)->group, (*a)->throttle, part_of_gang(e, *a));
}

/* The memory of a CPU device is that of its group, as a GPU's is that of its jobs
 * together.  A gang has no such group: its jobs are watched by the engine. */
static void limit_memory(struct local_engine *e, const struct attempt *a)
{
    double bytes = e->devices[a->devices[0]].cpu.memory_bytes;
    char path[32];
    struct err err;

    if (a->device_count != 1 || !(bytes > 0))
        return;
    snprintf(path, sizeof(path), "device-%d", a->devices[0]);
    if (cgroups_set_memory(e->groups, path, bytes, &err) < 0)
        log_warn("engine_memory_not_limited", LOG_STR("group", path), LOG_ERR(&err));
}

/* Groups of the throttle cycle: one a device, then one a gang. */
static int free_gang(const struct local_engine *e)
{
    int group = e->device_count;

    for (size_t i = 0; i < e->seated.count; i++)
        if (e->seated.items[i]->throttle == group) {
            group++;
            i = (size_t)-1; /* from the start */
        }
    return group;
}

int cpu_quota_join(struct local_engine *e, struct attempt *a, struct err *err)
{
    a->throttle = a->device_count == 1 ? a->devices[0] : free_gang(e);
    if (cgroups_make(e->groups, a->group, err) < 0)
        return -1;
    cgroups_set_tasks(e->groups, a->group, e->options.tasks);
    vec_push(&e->seated, a);
    limit_memory(e, a);
    share_out(e);
    return 0;
}

void cpu_quota_started(struct local_engine *e, const struct attempt *a)
{
    if (e->throttle && !a->nobody)
        throttle_add(e->throttle, a->throttle, a->probe.pid);
}

void cpu_quota_leave(struct local_engine *e, const struct attempt *a)
{
    for (size_t i = 0; i < e->seated.count; i++) {
        if (e->seated.items[i] != a)
            continue;
        if (e->throttle)
            throttle_remove(e->throttle, a->probe.pid);
        cgroups_remove(e->groups, a->group);
        e->seated.items[i] = e->seated.items[--e->seated.count];
        share_out(e);
        return;
    }
}

void cpu_quota_scale(struct local_engine *e, int device, double scale)
{
    e->devices[device].scale = scale;
    share_out(e);
}
