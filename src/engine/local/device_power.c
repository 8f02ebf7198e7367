/* device_power.c - joules of each device and of its jobs, see device_power.h
 *
 * watch_jobs.c tells processor time, local_devices.c the intervals of GPU meters, local.c
 * when it is time; one ENGINE_POWER event for each device goes to the daemon. */
#include "engine/local/device_power.h"

#include "base/mem.h"
#include "base/vec.h"
#include "engine/local/local_private.h"
#include "gpu/cpu_load.h"
#include "world/power.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Seconds of two jobs may draw differently: instructions and memory do. */
#define TIME_ERROR 0.1

struct use { /* of a CPU device since the last tick */
    uint64_t job;
    double cpu_s;
};

struct device_meter {
    struct device_power_spec device;
    struct energy_booking
        *booking; /* of a whole GPU; NULL: a CPU device, a MIG instance */
    vec_of(struct use) uses;
    double used_s; /* processor time since the last tick, of all */
    double watts;  /* mean of the last interval */
};

struct device_power {
    struct gpus *gpus;
    int count;
    struct device_meter *meters; /* (count) */
    double last_s;               /* NaN before the first tick */
    double machine_used_s; /* processor time of the whole machine at the last tick */
};

/* Processor time of all that ever ran here, not idle and not waiting for a disk. */
static double machine_used_s(void)
{
    double busy, total;

    return cpu_load_ticks("/proc", &busy, &total) ? busy / (double)sysconf(_SC_CLK_TCK)
                                                  : NAN;
}

struct device_power *
device_power_create(struct gpus *gpus, const struct device_power_spec *devices, int count)
{
    struct device_power *p = mem_new(struct device_power);

    p->gpus = gpus;
    p->count = count;
    p->meters = mem_array(struct device_meter, (size_t)count);
    for (int i = 0; i < count; i++) {
        p->meters[i] = (struct device_meter){.device = devices[i], .watts = NAN};
        if (devices[i].gpu >= 0 && !gpus_is_part(gpus, devices[i].gpu))
            p->meters[i].booking = energy_booking_create(devices[i].sheet);
    }
    p->last_s = NAN;
    return p;
}

void device_power_destroy(struct device_power *p)
{
    if (!p)
        return;
    for (int i = 0; i < p->count; i++) {
        energy_booking_destroy(p->meters[i].booking);
        vec_free(&p->meters[i].uses);
    }
    free(p->meters);
    free(p);
}

void device_power_used(struct device_power *p, int device, uint64_t job, double cpu_s)
{
    struct device_meter *m = &p->meters[device];

    m->used_s += cpu_s;
    vec_each (struct use, u, &m->uses)
        if (u->job == job) {
            u->cpu_s += cpu_s;
            return;
        }
    vec_push(&m->uses, (struct use){job, cpu_s});
}

void device_power_join(struct device_power *p, int device, uint64_t job, double now_s)
{
    if (p->meters[device].booking)
        energy_booking_join(p->meters[device].booking, job, now_s);
}

void device_power_leave(struct device_power *p, int device, uint64_t job, double now_s)
{
    if (p->meters[device].booking)
        energy_booking_leave(p->meters[device].booking, job, now_s);
}

void device_power_metered(struct device_power *p, int device,
                          const struct gpu_interval *interval,
                          energy_booking_activity *activity, void *ctx)
{
    if (p->meters[device].booking)
        energy_booking_add(p->meters[device].booking, interval, activity, ctx);
}

/* By the data sheet and the part of the device's time that was used. */
static void by_model(struct device_meter *m, double seconds, struct gpus_energy *energy)
{
    double most_s = m->device.cores * seconds;
    double busy = most_s > 0 ? fmin(m->used_s / most_s, 1) : 0;

    energy->seconds = seconds;
    energy->joules = power_draw_watts(m->device.sheet, busy) * seconds;
    energy->modelled = true;
}

/* The package's energy by processor time.  What is not used by our devices is somebody
 * else's; an idle package is shared by no one. */
static void by_package(const struct device_meter *m, const struct gpus_energy *package,
                       double machine_s, struct gpus_energy *energy)
{
    double part = machine_s > 0 ? fmin(m->used_s / machine_s, 1) : 0;

    *energy = *package;
    energy->joules *= part;
}

/* A CPU device's jobs by their processor time: that is what the figure was made from. */
static int by_time(const struct device_meter *m, const struct gpus_energy *energy,
                   struct engine_share **shares)
{
    double idle = m->device.sheet->idle_watts * energy->seconds;
    double dynamic = fmax(0, energy->joules - idle);
    int count = 0;

    *shares = mem_array(struct engine_share, m->uses.count + 1);
    vec_each (const struct use, u, &m->uses)
        if (u->cpu_s > 0)
            (*shares)[count++] = (struct engine_share){
                .job = u->job,
                .joules = dynamic * u->cpu_s / m->used_s,
                .error_joules = TIME_ERROR * dynamic * u->cpu_s / m->used_s};
    return count;
}

static void tell(struct device_meter *m, int device, const struct gpus_energy *energy,
                 double now_s, const struct engine_sink *sink)
{
    struct engine_event event = local_event(ENGINE_POWER);
    struct engine_share *shares = NULL;

    if (m->booking)
        event.share_count =
            energy_booking_tell(m->booking, now_s, energy->joules, &shares);
    else if (m->device.gpu < 0)
        event.share_count = by_time(m, energy, &shares);
    event.divided = shares != NULL;
    event.shares = shares;
    m->watts = energy->seconds > 0 ? energy->joules / energy->seconds : NAN;
    event.device = device;
    event.watts = m->watts;
    event.joules = energy->joules;
    event.modelled = energy->modelled;
    sink->event(sink->ctx, &event);
    free(shares);
}

void device_power_tick(struct device_power *p, double now_s,
                       const struct engine_sink *sink)
{
    double seconds = now_s - p->last_s, machine = machine_used_s();
    struct gpus_energy package, energy;
    bool metered = p->gpus && gpus_package_energy(p->gpus, &package);
    bool first = isnan(p->last_s);

    for (int i = 0; i < p->count; i++) {
        struct device_meter *m = &p->meters[i];
        bool known = true;

        if (m->device.gpu >= 0)
            known = gpus_energy(p->gpus, m->device.gpu, &energy);
        else if (metered && package.seconds > 0)
            by_package(m, &package, machine - p->machine_used_s, &energy);
        else
            by_model(m, seconds, &energy);
        if (known && !first)
            tell(m, i, &energy, now_s, sink);
        m->used_s = 0;
        m->uses.count = 0;
    }
    p->last_s = now_s;
    p->machine_used_s = machine;
}

double device_power_watts(const struct device_power *p, int device)
{
    return p->meters[device].watts;
}
