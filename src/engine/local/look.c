/* look.c - a look at all processes: who belongs to whom, time and memory used
 *
 * See local_own.h. */
#include "engine/local/local_private.h"

#include "base/log.h"

#include <math.h>
#include <unistd.h>

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

/* A job on several devices used them in proportion to what they give. */
static void share_cpu(struct local_engine *e, const struct attempt *a, double cpu_s)
{
    double all = 0;

    for (int i = 0; i < a->device_count; i++)
        all += cpus_cores(&e->cpus[a->devices[i]]);
    for (int i = 0; i < a->device_count && all > 0; i++)
        device_power_used(e->power, a->devices[i], a->job,
                          cpu_s * cpus_cores(&e->cpus[a->devices[i]]) / all);
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

void look_at_end(struct local_engine *e, struct attempt *a)
{
    if (!isnan(a->cpu_s))
        count_cpu(e, a, a->cpu_s);
}

static double memory_of(const struct local_engine *e, const struct attempt *a)
{
    double bytes = 0;

    for (int i = 0; i < a->device_count; i++)
        bytes += e->cpus[a->devices[i]].memory_bytes;
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
    double used = 0, limit = e->cpus[device].memory_bytes;
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

void look_for_start(struct local_engine *e, struct attempt *a)
{
    struct process_id probe, child;

    if (a->state == ATTEMPT_RUNNING && !a->told_start &&
        attempt_read_pids(a, &probe, &child) && child.pid > 0 &&
        probe.pid == a->probe.pid)
        start_tell(e, a);
}

void look_at_all(struct local_engine *e)
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
        look_for_start(e, a);
    }
    for (size_t i = 0; i < e->attempts.count; i++)
        watch_gang(e, e->attempts.items[i]);
    for (int d = 0; d < e->device_count && !cgroups_limit_memory(e->groups); d++)
        if (e->cpus[d].memory_bytes > 0)
            watch_memory(e, d);
}
