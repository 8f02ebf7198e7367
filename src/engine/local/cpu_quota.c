/* cpu_quota.c - groups and quotas of the jobs on CPU devices, see cpu_quota.h
 *
 * start.c and adopt.c let a job join, stop.c lets it leave, local_devices.c caps a
 * device; the parts of all jobs are set anew each time, by cgroups.c or by
 * cpu_throttle.c. */
#include "engine/local/cpu_quota.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/vec.h"
#include "loop/types.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct seated {
    uint64_t job;
    int attempt;
    int group; /* of the throttle cycle */
    pid_t probe;
    int count;
    int devices[LOOP_MAX_GANG];
};

struct cpu_quota {
    const struct cpus_device *cpus;
    int device_count;
    struct cgroups *groups;
    struct cpu_throttle *throttle; /* NULL: cgroups do it, or there is nothing to do */
    double *scales;                /* (device_count) */
    vec_of(struct seated) jobs;
};

static bool any_cpu(const struct cpus_device *cpus, int count)
{
    for (int d = 0; d < count; d++)
        if (cpus[d].core_count > 0)
            return true;
    return false;
}

/* A group counts as one process against all others of the machine: ours together must
 * count as many as they have cores, or a busy machine starves the devices. */
static void weigh(struct cpu_quota *a)
{
    int cores = 0;

    for (int d = 0; d < a->device_count; d++)
        cores += a->cpus[d].core_count;
    if (cores > 0)
        cgroups_set_weight(a->groups, "", cores);
}

struct cpu_quota *cpu_quota_create(const struct cpus_device *cpus, int device_count,
                                   struct cgroups *groups, struct err *err)
{
    struct cpu_quota *a = mem_new(struct cpu_quota);

    a->cpus = cpus;
    a->device_count = device_count;
    a->groups = groups;
    a->scales = mem_array(double, (size_t)device_count);
    for (int d = 0; d < device_count; d++)
        a->scales[d] = 1;
    weigh(a);
    if (!any_cpu(cpus, device_count) || cgroups_limit_cpu(groups))
        return a;
    a->throttle = cpu_throttle_create(err);
    if (a->throttle)
        return a;
    cpu_quota_destroy(a);
    return NULL;
}

void cpu_quota_destroy(struct cpu_quota *a)
{
    if (!a)
        return;
    cpu_throttle_destroy(a->throttle);
    vec_free(&a->jobs);
    free(a->scales);
    free(a);
}

const char *cpu_quota_method(const struct cpu_quota *a)
{
    if (!any_cpu(a->cpus, a->device_count))
        return "none";
    return a->throttle ? "throttle cycle" : "cgroup";
}

static void device_path(int device, char path[CPU_QUOTA_PATH_SIZE])
{
    snprintf(path, CPU_QUOTA_PATH_SIZE, "device-%d", device);
}

void cpu_quota_path(uint64_t job, int attempt, const int *devices, int count,
                    char path[CPU_QUOTA_PATH_SIZE])
{
    char above[24] = "gang";

    if (count == 1)
        snprintf(above, sizeof(above), "device-%d", devices[0]);
    snprintf(path, CPU_QUOTA_PATH_SIZE, "%s/job-%llu-%d", above, (unsigned long long)job,
             attempt);
}

static bool sits_on(const struct seated *s, int device)
{
    for (int i = 0; i < s->count; i++)
        if (s->devices[i] == device)
            return true;
    return false;
}

int cpu_quota_jobs_on(const struct cpu_quota *a, int device)
{
    int count = 0;

    vec_each (const struct seated, s, &a->jobs)
        count += sits_on(s, device);
    return count;
}

static int gangs_on(const struct cpu_quota *a, int device)
{
    int count = 0;

    vec_each (const struct seated, s, &a->jobs)
        count += s->count > 1 && sits_on(s, device);
    return count;
}

static void limit(struct cpu_quota *a, const char *path, int group, double cores)
{
    struct err err;

    if (a->throttle)
        cpu_throttle_set(a->throttle, group, cores);
    else if (cgroups_set_cpu(a->groups, path, cores, &err) < 0)
        log_warn("engine_quota_not_set", LOG_STR("group", path), LOG_ERR(&err));
}

/* Cores of a device that are left for the jobs on no other device. */
static double left_for_singles(const struct cpu_quota *a, int device)
{
    int jobs = cpu_quota_jobs_on(a, device), gangs = gangs_on(a, device);
    double part = gangs > 0 && gangs < jobs ? (double)(jobs - gangs) / jobs : 1;

    return cpus_cores(&a->cpus[device]) * a->scales[device] * part;
}

static double part_of_gang(const struct cpu_quota *a, const struct seated *s)
{
    double cores = 0;

    for (int i = 0; i < s->count; i++) {
        int d = s->devices[i];

        if (a->cpus[d].core_count > 0)
            cores += cpus_cores(&a->cpus[d]) * a->scales[d] / cpu_quota_jobs_on(a, d);
    }
    return cores;
}

/* A whole quota is kept by the cores themselves: stopping would only cost. */
static double throttle_cores(const struct cpu_quota *a, int device, double cores)
{
    return a->throttle && cores >= a->cpus[device].core_count ? 0 : cores;
}

static void share_out(struct cpu_quota *a)
{
    char path[CPU_QUOTA_PATH_SIZE];

    for (int d = 0; d < a->device_count; d++) {
        if (a->cpus[d].core_count == 0 || cpu_quota_jobs_on(a, d) == gangs_on(a, d))
            continue;
        device_path(d, path);
        cgroups_set_weight(a->groups, path, a->cpus[d].core_count);
        limit(a, path, d, throttle_cores(a, d, left_for_singles(a, d)));
    }
    vec_each (const struct seated, s, &a->jobs) {
        if (s->count == 1 || part_of_gang(a, s) <= 0)
            continue;
        cpu_quota_path(s->job, s->attempt, s->devices, s->count, path);
        limit(a, path, s->group, part_of_gang(a, s));
    }
}

/* The memory of a CPU device is that of its group, as a GPU's is that of its jobs
 * together.  A gang has no such group: its jobs are watched by the engine. */
static void limit_memory(struct cpu_quota *a, const int *devices, int count)
{
    char path[CPU_QUOTA_PATH_SIZE];
    struct err err;

    if (count != 1 || !(a->cpus[devices[0]].memory_bytes > 0))
        return;
    device_path(devices[0], path);
    if (cgroups_set_memory(a->groups, path, a->cpus[devices[0]].memory_bytes, &err) < 0)
        log_warn("engine_memory_not_limited", LOG_STR("group", path), LOG_ERR(&err));
}

/* Groups of the throttle cycle: one a device, then one a gang. */
static int free_gang(const struct cpu_quota *a)
{
    int group = a->device_count;

    for (size_t i = 0; i < a->jobs.count; i++)
        if (a->jobs.items[i].group == group) {
            group++;
            i = (size_t)-1; /* from the start */
        }
    return group;
}

int cpu_quota_join(struct cpu_quota *a, uint64_t job, int attempt, const int *devices,
                   int count, struct err *err)
{
    struct seated s = {.job = job, .attempt = attempt, .count = count};
    char path[CPU_QUOTA_PATH_SIZE];

    assert(count >= 1 && count <= LOOP_MAX_GANG);
    memcpy(s.devices, devices, (size_t)count * sizeof(*devices));
    s.group = count == 1 ? devices[0] : free_gang(a);
    cpu_quota_path(job, attempt, devices, count, path);
    if (cgroups_make(a->groups, path, err) < 0)
        return -1;
    vec_push(&a->jobs, s);
    limit_memory(a, devices, count);
    share_out(a);
    return 0;
}

static struct seated *find(struct cpu_quota *a, uint64_t job, int attempt)
{
    vec_each (struct seated, s, &a->jobs)
        if (s->job == job && s->attempt == attempt)
            return s;
    return NULL;
}

void cpu_quota_started(struct cpu_quota *a, uint64_t job, int attempt, pid_t probe)
{
    struct seated *s = find(a, job, attempt);

    if (!s || s->probe)
        return;
    s->probe = probe;
    if (a->throttle)
        cpu_throttle_add(a->throttle, s->group, probe);
}

void cpu_quota_leave(struct cpu_quota *a, uint64_t job, int attempt)
{
    struct seated *s = find(a, job, attempt);
    char path[CPU_QUOTA_PATH_SIZE];

    if (!s)
        return;
    if (a->throttle && s->probe)
        cpu_throttle_remove(a->throttle, s->probe);
    cpu_quota_path(job, attempt, s->devices, s->count, path);
    cgroups_remove(a->groups, path);
    *s = a->jobs.items[--a->jobs.count];
    share_out(a);
}

void cpu_quota_scale(struct cpu_quota *a, int device, double scale)
{
    a->scales[device] = scale;
    share_out(a);
}
