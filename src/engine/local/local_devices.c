/* local_devices.c - what there is: GPUs of telemetry, CPU devices of the config
 *
 * local.c opens them and tells the daemon of them as a cluster.  GPUs come first, in the
 * driver's order: whole ones that are not partitioned, and MIG instances.  Telemetry runs
 * on a thread of its own, since drivers hang; the poller calls when it has read a device:
 * its energy is kept for device_power.c, a loss and a return go to the daemon. */
#include "engine/local/local_private.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "loop/cluster.h"
#include "world/power.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CAP_LEAST 0.4 /* of the draw: the lowest cap of a CPU device */
#define PERIOD_S  1.0 /* between two samples of telemetry */

/* ---- data sheets ------------------------------------------------------------------ */

/* A card nobody has a sheet of runs jobs all the same: it gets the figures of the known
 * one whose memory is nearest, under its own name. */
static void sheet_of_stranger(const struct gpu_device *device, struct gpu_sheet *sheet)
{
    double memory_gb = device->memory_bytes / 1e9, best = INFINITY;
    size_t count, used = 0;
    const struct gpu_sheet *cards = gpu_catalogue(&count);
    const struct gpu_sheet *nearest = &cards[0];

    for (size_t i = 0; i < count; i++) {
        double far = fabs(log(fmax(memory_gb, 1) / cards[i].memory_gb));

        if (far < best) {
            best = far;
            nearest = &cards[i];
        }
    }
    *sheet = *nearest;
    snprintf(sheet->source, sizeof(sheet->source), "unknown card: figures of the %s",
             nearest->name);
    for (const char *c = device->name; *c && used + 1 < sizeof(sheet->name); c++)
        sheet->name[used++] =
            isalnum((unsigned char)*c) ? (char)tolower((unsigned char)*c) : '-';
    sheet->name[used] = '\0';
    str_copy(sheet->title, sizeof(sheet->title), device->name);
    if (memory_gb > 0)
        sheet->memory_gb = memory_gb;
}

/* An instance has its part of the whole, as its memory tells. */
static void sheet_of_part(const struct gpu_device *part, const struct gpu_device *whole,
                          struct gpu_sheet *sheet)
{
    double share = whole->memory_bytes > 0 && part->memory_bytes > 0
                       ? fmin(part->memory_bytes / whole->memory_bytes, 1)
                       : 1;
    char name[GPU_NAME_SIZE];

    str_copy(name, sizeof(name), sheet->name);
    snprintf(sheet->name, sizeof(sheet->name), "%.20s-mig%.0f", name,
             part->memory_bytes / 1e9);
    sheet->fp32_tflops *= share;
    sheet->fp16_tflops *= share;
    sheet->bandwidth_gbs *= share;
    sheet->memory_gb *= share;
    sheet->sms = (int)fmax(sheet->sms * share, 1);
    sheet->tdp_watts *= share;
    sheet->idle_watts *= share;
    sheet->cap_min_watts = 0; /* power is limited for the whole alone */
}

static void fill_sheet(struct gpu *gpu, const struct gpu_device *device, bool caps,
                       struct gpu_sheet *sheet)
{
    const struct gpu_device *whole =
        device->kind == GPU_KIND_MIG ? gpu_device(gpu, device->parent) : device;

    if (whole->sheet)
        *sheet = *whole->sheet;
    else
        sheet_of_stranger(whole, sheet);
    if (!caps || !whole->has_limit)
        sheet->cap_min_watts = 0;
    if (device != whole)
        sheet_of_part(device, whole, sheet);
}

/* ---- telemetry -------------------------------------------------------------------- */

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

/* A service's part of the device's time.  Where the driver tells of no processes, a
 * service that is alone has all of it. */
static void count_busy(struct metered *m, const struct local_device *d, double seconds)
{
    int device = (int)(d - m->engine->devices);

    vec_each (struct attempt *, at, &m->engine->attempts) {
        struct attempt *a = *at;
        double share;

        for (int i = 0; a->service && i < a->device_count; i++) {
            if (a->devices[i] != device)
                continue;
            share = activity_of(m, a->job);
            if (isnan(share) && cpu_quota_jobs_on(m->engine, device) == 1)
                share = m->sample->utilisation;
            if (!isnan(share)) {
                a->gpu_busy_s += share * seconds;
                a->gpu_seen_s += seconds;
            }
        }
    }
}

static void take_reading(struct local_engine *e, const struct gpu_reading *r)
{
    struct local_energy *sum = &e->energy[r->device];
    struct local_device *d = e->devices;

    while (d < e->devices + e->device_count && d->gpu != r->device)
        d++;
    if (d == e->devices + e->device_count)
        d = NULL; /* a package, or a GPU that is partitioned */
    if (d)
        d->status = r->status;
    if (d && r->status != GPU_OK)
        d->trouble = r->err;
    if (!r->has_interval)
        return;
    sum->joules += r->interval.joules;
    sum->seconds += r->interval.to_s - r->interval.from_s;
    sum->modelled = sum->modelled || r->interval.method == GPU_METHOD_MODEL;
    if (d && d->booking) {
        struct metered m = {e, &r->sample};

        energy_booking_add(d->booking, &r->interval, activity_of, &m);
        count_busy(&m, d, r->interval.to_s - r->interval.from_s);
    }
}

static void on_telemetry(void *ctx, uint32_t events)
{
    struct gpu_reading *reading = mem_new(struct gpu_reading);
    struct local_engine *e = ctx;

    (void)events;
    while (gpu_sampler_take(e->sampler, reading))
        take_reading(e, reading);
    free(reading);
    for (int i = 0; i < e->device_count; i++) {
        struct local_device *d = &e->devices[i];
        bool lost = d->status == GPU_LOST || d->status == GPU_HUNG;
        struct engine_event event;

        if (d->gpu < 0 || lost == d->lost)
            continue;
        d->lost = lost;
        event = local_event(lost ? ENGINE_DEVICE_LOST : ENGINE_DEVICE_BACK);
        event.device = i;
        local_tell(e, event, lost ? d->trouble.text : NULL);
    }
}

static int open_caps(struct local_engine *e, struct err *err)
{
    char *file = file_join(e->state_dir, "power-limits");

    e->caps = gpu_caps_open(e->gpu, file, e->options.caps, err);
    free(file);
    return e->caps ? 0 : -1;
}

static void close_telemetry(struct local_engine *e)
{
    gpu_sampler_stop(e->sampler);
    gpu_caps_close(e->caps); /* power limits are put back */
    gpu_close(e->gpu);
    e->sampler = NULL;
    e->caps = NULL;
    e->gpu = NULL;
}

static int start_telemetry(struct local_engine *e, struct err *err)
{
    struct gpu_options options = e->options.gpu;
    unsigned wanted = options.backends ? options.backends : GPU_BACKEND_ALL;

    /* The model of the whole processor is of no use: CPU devices have their own. */
    wanted &= ~(unsigned)GPU_BACKEND_NONE;
    options.backends = e->options.gpus ? wanted : wanted & GPU_BACKEND_RAPL;
    if (options.backends == 0)
        return err_set(err, ERR_INVALID,
                       "no way of finding devices is left by the options");
    e->gpu = gpu_open(&options, err);
    if (!e->gpu || (e->options.gpus && open_caps(e, err) < 0))
        return -1;
    e->sampler = gpu_sampler_start(e->gpu, PERIOD_S, err);
    return e->sampler ? 0 : -1;
}

/* Telemetry is a must where GPUs are wanted; else it is only for the package's meter. */
static int open_telemetry(struct local_engine *e, struct err *err)
{
    struct err ignored;

    if (start_telemetry(e, e->options.gpus ? err : &ignored) < 0) {
        close_telemetry(e);
        return e->options.gpus ? -1 : 0;
    }
    return local_watch(e, &e->telemetry, gpu_sampler_fd(e->sampler), on_telemetry, e,
                       err);
}

/* ---- devices ---------------------------------------------------------------------- */

static void add_gpus(struct local_engine *e)
{
    for (int i = 0; e->options.gpus && i < gpu_count(e->gpu) && i < GPU_MAX_DEVICES;
         i++) {
        const struct gpu_device *device = gpu_device(e->gpu, i);
        struct local_device *d = &e->devices[e->device_count];

        if (device->kind == GPU_KIND_CPU || device->partitioned ||
            device->status == GPU_LOST)
            continue;
        e->device_count++;
        d->gpu = i;
        d->part = device->kind == GPU_KIND_MIG;
        fill_sheet(e->gpu, device, e->options.caps, &d->sheet);
        if (!d->part)
            d->booking = energy_booking_create(&d->sheet);
    }
}

static int add_cpus(struct local_engine *e, struct err *err)
{
    const struct cpus_spec *specs = e->options.cpus.items;
    int first = e->device_count;

    for (size_t i = 0; i < e->options.cpus.count; i++) {
        struct local_device *d = &e->devices[e->device_count];

        if (cpus_device_init(&d->cpu, &specs[i], err) < 0)
            return -1;
        for (int j = first; j < e->device_count; j++)
            if (strcmp(d->cpu.type, e->devices[j].cpu.type) == 0 &&
                cpus_same_type(&d->cpu, &e->devices[j].cpu, err) < 0)
                return -1;
        e->device_count++;
        d->gpu = -1;
        d->sheet = d->cpu.sheet;
        if (e->options.caps) /* a cap on a CPU device is a smaller quota */
            d->sheet.cap_min_watts =
                d->sheet.idle_watts +
                CAP_LEAST * (d->sheet.tdp_watts - d->sheet.idle_watts);
    }
    return 0;
}

int local_devices_open(struct local_engine *e, struct err *err)
{
    size_t most;

    if (open_telemetry(e, err) < 0)
        return -1;
    most = e->options.cpus.count + (e->options.gpus ? GPU_MAX_DEVICES : 0);
    e->devices = mem_array(struct local_device, most);
    for (size_t i = 0; i < most; i++) {
        e->devices[i].scale = 1;
        e->devices[i].watts = NAN;
    }
    add_gpus(e);
    if (add_cpus(e, err) < 0)
        return -1;
    if (e->device_count == 0)
        return err_set(err, ERR_INVALID,
                       "there is no device to run jobs on: no GPU was found and the "
                       "config names no CPU devices");
    return 0;
}

void local_devices_close(struct local_engine *e)
{
    for (int i = 0; i < e->device_count; i++) {
        energy_booking_destroy(e->devices[i].booking);
        vec_free(&e->devices[i].uses);
    }
    free(e->devices);
    close_telemetry(e);
}

int local_devices_cluster(void *engine, struct cluster **cluster, struct err *err)
{
    const struct local_engine *e = engine;
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
    cluster_add_node(*cluster,
                     &(struct node_spec){
                         .name = e->node,
                         .type = of[0],
                         .device_count = e->device_count,
                         .host_watts = e->options.host_watts,
                         .sleep_watts = e->options.host_watts,
                         .may_sleep = false, /* the daemon is on it */
                         .room = {cpus_machine_cores(), cpus_machine_memory_gb()},
                     });
    for (int d = 0; d < e->device_count; d++)
        (*cluster)->devices[d].type = of[d];
    rc = 0;
done:
    free(of);
    return rc;
}

int local_devices_cap(void *engine, int device, double watts, struct err *err)
{
    struct local_engine *e = engine;
    const struct local_device *d;

    if (device < 0 || device >= e->device_count)
        return err_set(err, ERR_INVALID, "there is no device %d", device);
    d = &e->devices[device];
    if (!e->options.caps && watts > 0)
        return err_set(err, ERR_UNSUPPORTED,
                       "power limits are not allowed: the config must say so");
    if (d->gpu >= 0)
        return gpu_caps_set(e->caps, d->gpu, watts, err) == GPU_OK ? 0 : -1;
    if (watts != 0 && !(watts >= d->sheet.cap_min_watts))
        return err_set(err, ERR_INVALID, "a cap of %g W on device %d, want at least %g",
                       watts, device, d->sheet.cap_min_watts);
    /* The part of its quota at which it draws no more than this, by its model. */
    cpu_quota_scale(e, device,
                    watts > 0 && watts < d->sheet.tdp_watts ? power_busy(&d->sheet, watts)
                                                            : 1);
    return 0;
}
