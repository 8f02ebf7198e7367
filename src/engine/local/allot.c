/* allot.c - see allot.h */
#include "engine/local/allot.h"

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
    int group; /* of the duty cycle */
    pid_t probe;
    int count;
    int devices[LOOP_MAX_GANG];
};

struct allot {
    const struct cpus_device *cpus;
    int device_count;
    struct cgroups *groups;
    struct duty *duty; /* NULL: cgroups do it, or there is nothing to do */
    double *scales;    /* (device_count) */
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
static void weigh(struct allot *a)
{
    int cores = 0;

    for (int d = 0; d < a->device_count; d++)
        cores += a->cpus[d].core_count;
    if (cores > 0)
        cgroups_set_weight(a->groups, "", cores);
}

struct allot *allot_create(const struct cpus_device *cpus, int device_count,
                           struct cgroups *groups, struct err *err)
{
    struct allot *a = mem_new(struct allot);

    a->cpus = cpus;
    a->device_count = device_count;
    a->groups = groups;
    a->scales = mem_array(double, (size_t)device_count);
    for (int d = 0; d < device_count; d++)
        a->scales[d] = 1;
    weigh(a);
    if (!any_cpu(cpus, device_count) || cgroups_limit_cpu(groups))
        return a;
    a->duty = duty_create(err);
    if (a->duty)
        return a;
    allot_destroy(a);
    return NULL;
}

void allot_destroy(struct allot *a)
{
    if (!a)
        return;
    duty_destroy(a->duty);
    vec_free(&a->jobs);
    free(a->scales);
    free(a);
}

const char *allot_method(const struct allot *a)
{
    if (!any_cpu(a->cpus, a->device_count))
        return "none";
    return a->duty ? "duty cycle" : "cgroup";
}

static void device_path(int device, char path[ALLOT_PATH_SIZE])
{
    snprintf(path, ALLOT_PATH_SIZE, "device-%d", device);
}

void allot_path(uint64_t job, int attempt, const int *devices, int count,
                char path[ALLOT_PATH_SIZE])
{
    char above[24] = "gang";

    if (count == 1)
        snprintf(above, sizeof(above), "device-%d", devices[0]);
    snprintf(path, ALLOT_PATH_SIZE, "%s/job-%llu-%d", above, (unsigned long long)job,
             attempt);
}

static bool sits_on(const struct seated *s, int device)
{
    for (int i = 0; i < s->count; i++)
        if (s->devices[i] == device)
            return true;
    return false;
}

int allot_jobs_on(const struct allot *a, int device)
{
    int count = 0;

    vec_each (const struct seated, s, &a->jobs)
        count += sits_on(s, device);
    return count;
}

static int gangs_on(const struct allot *a, int device)
{
    int count = 0;

    vec_each (const struct seated, s, &a->jobs)
        count += s->count > 1 && sits_on(s, device);
    return count;
}

static void limit(struct allot *a, const char *path, int group, double cores)
{
    struct err err;

    if (a->duty)
        duty_set(a->duty, group, cores);
    else if (cgroups_set_cpu(a->groups, path, cores, &err) < 0)
        log_warn("engine_quota_not_set", LOG_STR("group", path), LOG_ERR(&err));
}

/* What a device has for the jobs that are on it alone. */
static double left_for_singles(const struct allot *a, int device)
{
    int jobs = allot_jobs_on(a, device), gangs = gangs_on(a, device);
    double part = gangs > 0 && gangs < jobs ? (double)(jobs - gangs) / jobs : 1;

    return cpus_cores(&a->cpus[device]) * a->scales[device] * part;
}

static double part_of_gang(const struct allot *a, const struct seated *s)
{
    double cores = 0;

    for (int i = 0; i < s->count; i++) {
        int d = s->devices[i];

        if (a->cpus[d].core_count > 0)
            cores += cpus_cores(&a->cpus[d]) * a->scales[d] / allot_jobs_on(a, d);
    }
    return cores;
}

/* A whole quota is kept by the cores themselves: stopping would only cost. */
static double duty_cores(const struct allot *a, int device, double cores)
{
    return a->duty && cores >= a->cpus[device].core_count ? 0 : cores;
}

static void share_out(struct allot *a)
{
    char path[ALLOT_PATH_SIZE];

    for (int d = 0; d < a->device_count; d++) {
        if (a->cpus[d].core_count == 0 || allot_jobs_on(a, d) == gangs_on(a, d))
            continue;
        device_path(d, path);
        cgroups_set_weight(a->groups, path, a->cpus[d].core_count);
        limit(a, path, d, duty_cores(a, d, left_for_singles(a, d)));
    }
    vec_each (const struct seated, s, &a->jobs) {
        if (s->count == 1 || part_of_gang(a, s) <= 0)
            continue;
        allot_path(s->job, s->attempt, s->devices, s->count, path);
        limit(a, path, s->group, part_of_gang(a, s));
    }
}

/* The memory of a CPU device is that of its group, as a GPU's is that of its jobs
 * together.  A gang has no such group: its jobs are watched by the engine. */
static void limit_memory(struct allot *a, const int *devices, int count)
{
    char path[ALLOT_PATH_SIZE];
    struct err err;

    if (count != 1 || !(a->cpus[devices[0]].memory_bytes > 0))
        return;
    device_path(devices[0], path);
    if (cgroups_set_memory(a->groups, path, a->cpus[devices[0]].memory_bytes, &err) < 0)
        log_warn("engine_memory_not_limited", LOG_STR("group", path), LOG_ERR(&err));
}

/* Groups of the duty cycle: one a device, then one a gang. */
static int free_gang(const struct allot *a)
{
    int group = a->device_count;

    for (size_t i = 0; i < a->jobs.count; i++)
        if (a->jobs.items[i].group == group) {
            group++;
            i = (size_t)-1; /* from the start */
        }
    return group;
}

int allot_join(struct allot *a, uint64_t job, int attempt, const int *devices, int count,
               struct err *err)
{
    struct seated s = {.job = job, .attempt = attempt, .count = count};
    char path[ALLOT_PATH_SIZE];

    assert(count >= 1 && count <= LOOP_MAX_GANG);
    memcpy(s.devices, devices, (size_t)count * sizeof(*devices));
    s.group = count == 1 ? devices[0] : free_gang(a);
    allot_path(job, attempt, devices, count, path);
    if (cgroups_make(a->groups, path, err) < 0)
        return -1;
    vec_push(&a->jobs, s);
    limit_memory(a, devices, count);
    share_out(a);
    return 0;
}

static struct seated *find(struct allot *a, uint64_t job, int attempt)
{
    vec_each (struct seated, s, &a->jobs)
        if (s->job == job && s->attempt == attempt)
            return s;
    return NULL;
}

void allot_started(struct allot *a, uint64_t job, int attempt, pid_t probe)
{
    struct seated *s = find(a, job, attempt);

    if (!s || s->probe)
        return;
    s->probe = probe;
    if (a->duty)
        duty_add(a->duty, s->group, probe);
}

void allot_leave(struct allot *a, uint64_t job, int attempt)
{
    struct seated *s = find(a, job, attempt);
    char path[ALLOT_PATH_SIZE];

    if (!s)
        return;
    if (a->duty && s->probe)
        duty_remove(a->duty, s->probe);
    allot_path(job, attempt, s->devices, s->count, path);
    cgroups_remove(a->groups, path);
    *s = a->jobs.items[--a->jobs.count];
    share_out(a);
}

void allot_scale(struct allot *a, int device, double scale)
{
    a->scales[device] = scale;
    share_out(a);
}
