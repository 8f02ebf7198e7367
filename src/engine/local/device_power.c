/* device_power.c - watts and joules of the engine's devices, and whose they are
 *
 * A GPU's joules come from telemetry (local_devices.c).  A CPU device has no meter of its
 * own: where the machine has one for its packages (RAPL), the devices get their parts of
 * it by processor time, which watch_jobs.c tells; elsewhere their data sheet and the time
 * used make a model, and every event says so.  A GPU's joules are divided by what changes
 * with its company (energy_booking.h), a CPU device's by the processor time of its jobs.
 * local.c says when it is time; one ENGINE_POWER event for each device goes to the
 * daemon. */
#include "engine/local/local_private.h"

#include "base/mem.h"
#include "gpu/sysfs.h"
#include "world/power.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

/* Seconds of two jobs may draw differently: instructions and memory do. */
#define TIME_ERROR 0.1

/* Processor time of all that ever ran here, not idle and not waiting for a disk. */
static double machine_used_s(void)
{
    double busy, total;

    return sysfs_cpu_ticks("/proc", &busy, &total) ? busy / (double)sysconf(_SC_CLK_TCK)
                                                   : NAN;
}

void device_power_used(struct local_device *d, uint64_t job, double cpu_s)
{
    d->used_s += cpu_s;
    vec_each (struct local_use, u, &d->uses)
        if (u->job == job) {
            u->cpu_s += cpu_s;
            return;
        }
    vec_push(&d->uses, (struct local_use){job, cpu_s});
}

static bool take(struct local_energy *sum, struct local_energy *energy)
{
    if (!(sum->seconds > 0))
        return false;
    *energy = *sum;
    *sum = (struct local_energy){0};
    return true;
}

/* An instance has no meter: it is taken to draw its part of the whole.  The whole's
 * energy is asked for by each of its parts, so it stays until the last has asked. */
static bool of_part(struct local_engine *e, const struct local_device *part,
                    struct local_energy *energy)
{
    int parent = gpu_device(e->gpu, part->gpu)->parent;
    struct local_energy *sum = &e->energy[parent];
    const struct local_device *last = part;
    double all_gb = 0;

    for (int i = 0; i < e->device_count; i++)
        if (e->devices[i].part &&
            gpu_device(e->gpu, e->devices[i].gpu)->parent == parent) {
            all_gb += e->devices[i].sheet.memory_gb;
            last = &e->devices[i];
        }
    if (!(sum->seconds > 0) || !(all_gb > 0))
        return false;
    *energy = (struct local_energy){sum->joules * part->sheet.memory_gb / all_gb,
                                    sum->seconds, true};
    if (part == last)
        *sum = (struct local_energy){0};
    return true;
}

/* All processor packages together; false where there is no meter (RAPL). */
static bool of_packages(struct local_engine *e, struct local_energy *all)
{
    struct local_energy one;

    *all = (struct local_energy){0};
    for (int i = 0; e->gpu && i < gpu_count(e->gpu) && i < GPU_MAX_DEVICES; i++) {
        if (gpu_device(e->gpu, i)->kind != GPU_KIND_CPU || !take(&e->energy[i], &one))
            continue;
        all->joules += one.joules;
        all->seconds = fmax(all->seconds, one.seconds);
        all->modelled = all->modelled || one.modelled;
    }
    return all->seconds > 0;
}

/* By the data sheet and the part of the device's time that was used. */
static struct local_energy by_model(const struct local_device *d, double seconds)
{
    double most_s = cpus_cores(&d->cpu) * seconds;
    double busy = most_s > 0 ? fmin(d->used_s / most_s, 1) : 0;

    return (struct local_energy){power_draw_watts(&d->sheet, busy) * seconds, seconds,
                                 true};
}

/* The package's energy by processor time.  What is not used by our devices is somebody
 * else's; an idle package is shared by no one. */
static struct local_energy by_package(const struct local_device *d,
                                      struct local_energy package, double machine_s)
{
    package.joules *= machine_s > 0 ? fmin(d->used_s / machine_s, 1) : 0;
    return package;
}

/* A CPU device's jobs by their processor time: that is what the figure was made from. */
static int by_time(const struct local_device *d, const struct local_energy *energy,
                   struct engine_share **shares)
{
    double idle = d->sheet.idle_watts * energy->seconds;
    double dynamic = fmax(0, energy->joules - idle);
    int count = 0;

    *shares = mem_array(struct engine_share, d->uses.count + 1);
    vec_each (const struct local_use, u, &d->uses)
        if (u->cpu_s > 0)
            (*shares)[count++] = (struct engine_share){
                .job = u->job,
                .joules = dynamic * u->cpu_s / d->used_s,
                .error_joules = TIME_ERROR * dynamic * u->cpu_s / d->used_s};
    return count;
}

static void tell(struct local_engine *e, int device, const struct local_energy *energy,
                 double now_s)
{
    struct local_device *d = &e->devices[device];
    struct engine_event event = local_event(ENGINE_POWER);
    struct engine_share *shares = NULL;

    if (d->booking)
        event.share_count =
            energy_booking_tell(d->booking, now_s, energy->joules, &shares);
    else if (d->gpu < 0)
        event.share_count = by_time(d, energy, &shares);
    event.divided = shares != NULL;
    event.shares = shares;
    d->watts = energy->seconds > 0 ? energy->joules / energy->seconds : NAN;
    event.device = device;
    event.watts = d->watts;
    event.joules = energy->joules;
    event.modelled = energy->modelled;
    local_tell(e, event, NULL);
    free(shares);
}

void device_power_tell(struct local_engine *e, double now_s)
{
    double seconds = now_s - e->power_s, machine_s = machine_used_s();
    struct local_energy package, energy;
    bool metered = of_packages(e, &package), first = isnan(e->power_s);

    for (int i = 0; i < e->device_count; i++) {
        struct local_device *d = &e->devices[i];
        bool known = true;

        if (d->part)
            known = of_part(e, d, &energy);
        else if (d->gpu >= 0)
            known = take(&e->energy[d->gpu], &energy);
        else if (metered)
            energy = by_package(d, package, machine_s - e->machine_used_s);
        else
            energy = by_model(d, seconds);
        if (known && !first)
            tell(e, i, &energy, now_s);
        d->used_s = 0;
        vec_clear(&d->uses);
    }
    e->power_s = now_s;
    e->machine_used_s = machine_s;
}
