/* loop_admin.c - see loop_admin.h */
#include "loop/loop_admin.h"

#include "loop/cluster.h"
#include "loop/record/record.h"
#include "loop/loop_private.h"

#include <math.h>
#include <string.h>

int loop_hold(struct loop *loop, uint64_t id, bool held, struct err *err)
{
    struct job_status *status;

    if (loop_find(loop, id, &status, err) < 0)
        return -1;
    status->held = held;
    return 0;
}

int loop_set_need(struct loop *loop, uint64_t id, const struct requirement *need,
                  struct err *err)
{
    struct job_status *status;
    struct job changed;

    if (loop_find(loop, id, &status, err) < 0)
        return -1;
    changed = status->job;
    changed.need = *need;
    if (admit_check(&changed, loop->cluster, err) < 0)
        return -1;
    status->job.need = *need;
    status->required_rate = need->rate;
    return 0;
}

int loop_set_priority(struct loop *loop, uint64_t id, int priority, struct err *err)
{
    struct job_status *status;

    if (loop_find(loop, id, &status, err) < 0)
        return -1;
    status->job.priority = priority;
    return 0;
}

static int check_device(const struct loop *loop, int device, struct err *err)
{
    if (device >= 0 && device < loop->cluster->device_count)
        return 0;
    return err_set(err, ERR_NOT_FOUND, "there is no device %d", device);
}

int loop_drain(struct loop *loop, int device, bool drained, struct err *err)
{
    if (check_device(loop, device, err) < 0)
        return -1;
    loop->cluster->devices[device].drained = drained;
    return 0;
}

void loop_device_failed(struct loop *loop, int device, double now_s)
{
    struct device *d = &loop->cluster->devices[device];

    while (d->job_count > 0)
        loop_requeue(loop, d->jobs[0], now_s, NULL);
    d->failed = true;
}

void loop_device_repaired(struct loop *loop, int device, double now_s)
{
    loop->cluster->devices[device].failed = false;
    loop->device_changed_s[device] = now_s;
}

void loop_uncap(struct loop *loop, int device, double until_s)
{
    loop->uncapped_until_s[device] = fmax(loop->uncapped_until_s[device], until_s);
}

int loop_set_cap(struct loop *loop, int device, double watts, double now_s,
                 struct err *err)
{
    const struct gpu_sheet *type;

    if (check_device(loop, device, err) < 0)
        return -1;
    type = &loop->cluster->types[loop->cluster->devices[device].type];
    if (watts != 0 && (type->cap_min_watts <= 0 || !(watts >= type->cap_min_watts) ||
                       watts > type->tdp_watts))
        return err_set(err, ERR_INVALID, "a %s can be capped from %g to %g W, not at %g",
                       type->name, type->cap_min_watts, type->tdp_watts, watts);
    loop->cluster->devices[device].cap_watts = watts;
    loop->device_changed_s[device] = now_s;
    return 0;
}

int loop_fix_cap(struct loop *loop, int device, double watts, double now_s,
                 struct err *err)
{
    if (loop_set_cap(loop, device, isnan(watts) ? 0 : watts, now_s, err) < 0)
        return -1;
    loop->fixed_cap_watts[device] = watts;
    return 0;
}

void loop_allow_sleep(struct loop *loop, int node, bool allowed)
{
    loop->cluster->nodes[node].may_sleep = allowed;
}

void loop_set_settings(struct loop *loop, const struct optimize_settings *settings)
{
    loop->settings = *settings;
}

const struct optimize_settings *loop_settings(const struct loop *loop)
{
    return &loop->settings;
}

static int check_seats(const struct loop *loop, const struct job_status *was,
                       struct err *err)
{
    if (was->device_count != was->job.devices || was->device_count > LOOP_MAX_GANG)
        return err_set(err, ERR_INVALID, "job %llu needs %d devices and had %d",
                       (unsigned long long)was->job.id, was->job.devices,
                       was->device_count);
    for (int i = 0; i < was->device_count; i++) {
        int d = was->devices[i];

        if (check_device(loop, d, err) < 0)
            return -1;
        if (loop->cluster->devices[d].failed ||
            loop->cluster->devices[d].job_count >= LOOP_MAX_SHARE)
            return err_set(err, ERR_INVALID, "device %d has no seat for job %llu", d,
                           (unsigned long long)was->job.id);
        for (int k = 0; k < i; k++)
            if (was->devices[k] == d)
                return err_set(err, ERR_INVALID, "job %llu had device %d twice",
                               (unsigned long long)was->job.id, d);
    }
    return 0;
}

int loop_restore(struct loop *loop, const struct job_status *was, struct err *err)
{
    struct job_status *status;

    if (jobs_get(loop->jobs, was->job.id))
        return err_set(err, ERR_EXISTS, "job %llu exists already",
                       (unsigned long long)was->job.id);
    if (admit_check(&was->job, loop->cluster, err) < 0)
        return -1;
    if (was->state == JOB_RUNNING && check_seats(loop, was, err) < 0)
        return -1;
    loop->model.ops->begin(loop->model.self, &was->job);
    status = jobs_add(loop->jobs, &was->job);
    *status = *was;
    if (was->state != JOB_RUNNING)
        status->device_count = 0;
    for (int i = 0; i < status->device_count; i++)
        cluster_seat(loop->cluster, status->devices[i], was->job.id);
    return 0;
}

void loop_restore_node(struct loop *loop, int n, enum node_state state, double now_s)
{
    struct node *node = &loop->cluster->nodes[n];

    node->state = state;
    node->since_s = node->idle_since_s = now_s;
}

int loop_observe(struct loop *loop, const struct measurement *m, struct observation *seen,
                 struct err *err)
{
    struct job_status *status;
    double stable_since_s;

    if (loop_find(loop, m->job, &status, err) < 0)
        return -1;
    stable_since_s = status->placed_s;
    for (int i = 0; i < status->device_count; i++)
        stable_since_s = fmax(stable_since_s, loop->device_changed_s[status->devices[i]]);
    return record_observe(m, loop->jobs, loop->cluster, stable_since_s, seen, err);
}

struct model loop_swap_model(struct loop *loop, struct model model)
{
    struct model old = loop->model;

    loop->model = model;
    return old;
}
