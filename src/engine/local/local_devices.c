/* local_devices.c - what there is: GPUs of telemetry, CPU devices of the config
 *
 * local.c opens them with the options and tells the daemon of them as a cluster.  GPUs
 * come first, in the driver's order.  The poller calls when telemetry has read a device:
 * intervals go to device_power.c, a loss and a return to the daemon. */
#include "engine/local/local_private.h"

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "loop/cluster.h"
#include "world/power.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CAP_LEAST 0.4 /* of the draw: the lowest cap of a CPU device */

static int add_cpus(struct local_engine *e, const struct local_engine_options *o,
                    int first, struct err *err)
{
    for (int i = 0; i < o->cpu_count; i++) {
        struct cpus_device *cpu = &e->cpus[first + i];
        struct local_device *d = &e->devices[first + i];

        if (cpus_device_init(cpu, &o->cpus[i], err) < 0)
            return -1;
        for (int j = 0; j < i; j++)
            if (strcmp(cpu->type, e->cpus[first + j].type) == 0 &&
                cpus_same_type(cpu, &e->cpus[first + j], err) < 0)
                return -1;
        d->cpu = true;
        d->gpu = -1;
        d->sheet = cpu->sheet;
        if (o->caps) /* a cap on a CPU device is a smaller quota */
            d->sheet.cap_min_watts =
                d->sheet.idle_watts +
                CAP_LEAST * (d->sheet.tdp_watts - d->sheet.idle_watts);
    }
    return 0;
}

static void add_gpus(struct local_engine *e, int count)
{
    for (int i = 0; i < count; i++) {
        struct local_device *d = &e->devices[i];

        d->gpu = i;
        d->sheet = *gpus_sheet(e->gpus, i);
        str_copy(d->uuid, sizeof(d->uuid), gpus_uuid(e->gpus, i));
    }
}

static void open_power(struct local_engine *e)
{
    struct device_power_spec *devices =
        mem_array(struct device_power_spec, (size_t)e->device_count);

    for (int d = 0; d < e->device_count; d++)
        devices[d] = (struct device_power_spec){
            .sheet = &e->devices[d].sheet,
            .gpu = e->devices[d].gpu,
            .cores = cpus_cores(&e->cpus[d]),
        };
    e->power = device_power_create(e->gpus, devices, e->device_count);
    free(devices);
}

struct metered {
    struct local_engine *engine;
    const struct gpu_sample *sample;
};

/* The processes the driver saw on the device that are this job's. */
static double activity_of(void *ctx, uint64_t job)
{
    const struct metered *m = ctx;
    const struct attempt *a = local_attempt_of(m->engine, job);
    double used = 0;

    if (!a || !m->sample->processes_known || m->sample->processes_cut)
        return NAN;
    for (int i = 0; i < m->sample->process_count; i++) {
        const struct gpu_process *p = &m->sample->processes[i];

        if (isnan(p->utilisation))
            return NAN;
        vec_each (const struct process_id, id, &a->members)
            if (id->pid == p->pid)
                used += p->utilisation;
    }
    return fmin(used, 1);
}

/* GPUs come first, so a GPU's number is its device's. */
static void on_interval(void *ctx, int gpu, const struct gpu_reading *reading)
{
    struct local_engine *e = ctx;
    struct metered metered = {e, &reading->sample};

    device_power_metered(e->power, gpu, &reading->interval, activity_of, &metered);
}

/* Telemetry saw something. */
static void on_telemetry(void *ctx, uint32_t events)
{
    struct local_engine *e = ctx;

    (void)events;
    gpus_pump(e->gpus, on_interval, e);
    for (int d = 0; d < e->device_count; d++) {
        struct local_device *device = &e->devices[d];
        struct engine_event event;
        const char *text;
        bool there;

        if (device->cpu)
            continue;
        there = gpus_present(e->gpus, device->gpu, &text);
        if (there == !device->lost)
            continue;
        device->lost = !there;
        event = local_event(there ? ENGINE_DEVICE_BACK : ENGINE_DEVICE_LOST);
        event.device = d;
        local_tell(e, event, there ? NULL : text);
    }
}

/* Telemetry is a must where GPUs are wanted; else it is only for the package's meter. */
static int open_gpus(struct local_engine *e, const struct local_engine_options *o,
                     struct err *err)
{
    char *caps_file = file_join(e->state_dir, "power-limits");
    struct err ignored;

    e->gpus = gpus_open(
        &(struct gpus_options){
            .gpu = &o->gpu, .caps_file = caps_file, .caps = o->caps, .devices = o->gpus},
        o->gpus ? err : &ignored);
    free(caps_file);
    if (!e->gpus)
        return o->gpus ? -1 : 0;
    return local_watch(e, &e->telemetry, gpus_fd(e->gpus), on_telemetry, e, err);
}

int local_devices_open(struct local_engine *e, const struct local_engine_options *o,
                       struct err *err)
{
    int gpus;

    if (open_gpus(e, o, err) < 0)
        return -1;
    gpus = o->gpus && e->gpus ? gpus_count(e->gpus) : 0;
    e->device_count = gpus + o->cpu_count;
    if (e->device_count == 0)
        return err_set(err, ERR_INVALID,
                       "there is no device to run jobs on: no GPU was found and the "
                       "config names no CPU devices");
    e->devices = mem_array(struct local_device, (size_t)e->device_count);
    e->cpus = mem_array(struct cpus_device, (size_t)e->device_count);
    add_gpus(e, gpus);
    if (add_cpus(e, o, gpus, err) < 0)
        return -1;
    open_power(e);
    return 0;
}

void local_devices_close(struct local_engine *e)
{
    device_power_destroy(e->power);
    gpus_close(e->gpus);
}

int local_devices_cluster(struct local_engine *e, struct cluster **cluster,
                          struct err *err)
{
    struct gpu_sheet types[CLUSTER_MAX_TYPES];
    int *of = mem_array(int, (size_t)e->device_count);
    int count = 0, rc = -1;

    for (int d = 0; d < e->device_count; d++) {
        int t = 0;

        while (t < count && strcmp(types[t].name, e->devices[d].sheet.name) != 0)
            t++;
        if (t == CLUSTER_MAX_TYPES) {
            err_set(err, ERR_LIMIT, "more than %d types of devices", CLUSTER_MAX_TYPES);
            goto done;
        }
        if (t == count)
            types[count++] = e->devices[d].sheet;
        of[d] = t;
    }
    *cluster = cluster_create(types, count);
    cluster_add_node(*cluster, &(struct node_spec){
                                   .name = e->node,
                                   .type = of[0],
                                   .device_count = e->device_count,
                                   .host_watts = e->options.host_watts,
                                   .sleep_watts = e->options.host_watts,
                                   .may_sleep = false, /* the daemon is on it */
                               });
    for (int d = 0; d < e->device_count; d++)
        (*cluster)->devices[d].type = of[d];
    rc = 0;
done:
    free(of);
    return rc;
}

/* The part of its quota at which a CPU device draws no more than this, by its model. */
static double scale_for(const struct gpu_sheet *sheet, double watts)
{
    return watts >= sheet->tdp_watts ? 1 : power_busy(sheet, watts);
}

int local_devices_cap(struct local_engine *e, int device, double watts, struct err *err)
{
    const struct local_device *d;

    if (device < 0 || device >= e->device_count)
        return err_set(err, ERR_INVALID, "there is no device %d", device);
    d = &e->devices[device];
    if (!e->options.caps && watts > 0)
        return err_set(err, ERR_UNSUPPORTED,
                       "power limits are not allowed: the config must say so");
    if (!d->cpu)
        return gpus_cap(e->gpus, d->gpu, watts, err);
    if (watts != 0 && !(watts >= d->sheet.cap_min_watts))
        return err_set(err, ERR_INVALID, "a cap of %g W on device %d, want at least %g",
                       watts, device, d->sheet.cap_min_watts);
    cpu_quota_scale(e->quota, device, watts > 0 ? scale_for(&d->sheet, watts) : 1);
    return 0;
}
