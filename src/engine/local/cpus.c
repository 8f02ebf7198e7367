/* cpus.c - sets of processor cores as devices, see cpus.h
 *
 * local_devices.c makes one for each entry of the config; start.c binds jobs to its
 * cores, cpu_quota.c and device_power.c ask for its share. */
#include "engine/local/cpus.h"

#include "base/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <unistd.h>

/* What a core of a server of these years does: two fused multiply-adds of 8 floats a
 * cycle, its part of the memory bandwidth, its part of the package's power.  Only the
 * ratios between devices of one machine count, and these come from cores and quota. */
#define FLOPS_A_CYCLE  32.0
#define BANDWIDTH_GBS  12.0
#define CORE_WATTS     8.0
#define IDLE_WATTS     1.0
#define CLOCK_GHZ      2.5 /* where the machine does not tell */
#define SHEET_YEAR     2020
#define MAX_LIST_BYTES 4096

bool cpus_parse_cores(const char *text, cpu_set_t *cores)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    if (strlen(text) > MAX_LIST_BYTES)
        return false;
    for (const char *at = text;; at++) {
        char *end;
        unsigned long first, last;

        if (*at < '0' || *at > '9')
            return false;
        first = last = strtoul(at, &end, 10);
        if (*end == '-') {
            at = end + 1;
            if (*at < '0' || *at > '9')
                return false;
            last = strtoul(at, &end, 10);
        }
        if (first > last || last >= CPU_SETSIZE)
            return false;
        for (unsigned long c = first; c <= last; c++)
            CPU_SET(c, &set);
        if (!*end)
            break;
        if (*end != ',')
            return false;
        at = end;
    }
    *cores = set;
    return true;
}

/* The highest clock, not the present one: a sheet must be the same tomorrow. */
static double clock_ghz(void)
{
    FILE *f = fopen("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "re");
    double khz = 0;

    if (f && fscanf(f, "%lf", &khz) != 1)
        khz = 0;
    if (f)
        fclose(f);
    return khz > 100e3 && khz < 20e6 ? khz / 1e6 : CLOCK_GHZ;
}

double cpus_machine_cores(void)
{
    return (double)sysconf(_SC_NPROCESSORS_ONLN);
}

double cpus_machine_memory_gb(void)
{
    struct sysinfo info;

    if (sysinfo(&info) < 0)
        return 1;
    return (double)info.totalram * info.mem_unit / 1e9;
}

double cpus_cores(const struct cpus_device *device)
{
    return device->core_count * device->quota;
}

static void fill_sheet(struct cpus_device *d, const struct cpus_spec *spec)
{
    double cores = cpus_cores(d);
    double busy = spec->core_watts > 0 ? spec->core_watts : CORE_WATTS;
    double idle = spec->idle_watts > 0 ? spec->idle_watts : IDLE_WATTS;
    struct gpu_sheet *s = &d->sheet;

    str_copy(s->name, sizeof(s->name), d->type);
    snprintf(s->title, sizeof(s->title), "%d CPU core%s at %g %%", d->core_count,
             d->core_count == 1 ? "" : "s", d->quota * 100);
    s->fp32_tflops = cores * clock_ghz() * FLOPS_A_CYCLE / 1000;
    s->fp16_tflops = s->fp32_tflops; /* nothing faster for halves */
    s->bandwidth_gbs = cores * BANDWIDTH_GBS;
    s->memory_gb = spec->memory_gb > 0 ? spec->memory_gb : cpus_machine_memory_gb();
    s->sms = d->core_count;
    s->cores = cores;
    s->idle_watts = d->core_count * idle * d->quota;
    s->tdp_watts = s->idle_watts + cores * busy;
    s->year = SHEET_YEAR;
    str_copy(s->source, sizeof(s->source), "scaled from cores, clock and quota: a guess");
}

static int check_cores(const struct cpus_spec *spec, const cpu_set_t *cores,
                       struct err *err)
{
    cpu_set_t allowed;

    if (sched_getaffinity(0, sizeof(allowed), &allowed) < 0)
        return err_sys(err, "cannot tell which cores there are");
    for (int c = 0; c < CPU_SETSIZE; c++)
        if (CPU_ISSET(c, cores) && !CPU_ISSET(c, &allowed))
            return err_set(err, ERR_INVALID,
                           "CPU device %s: there is no core %d here that may be used",
                           spec->type, c);
    return 0;
}

int cpus_device_init(struct cpus_device *device, const struct cpus_spec *spec,
                     struct err *err)
{
    struct cpus_device d = {0};

    if (!spec->type || !*spec->type || strlen(spec->type) >= sizeof(d.type) ||
        strpbrk(spec->type, "/ \t\n"))
        return err_set(err, ERR_INVALID,
                       "a CPU device needs a type of 1 to %zu letters without blanks",
                       sizeof(d.type) - 1);
    if (!spec->cores || !cpus_parse_cores(spec->cores, &d.cores))
        return err_set(err, ERR_INVALID,
                       "CPU device %s: cores is '%.40s', want a list as in 0-3,8",
                       spec->type, spec->cores ? spec->cores : "");
    if (check_cores(spec, &d.cores, err) < 0)
        return -1;
    str_copy(d.type, sizeof(d.type), spec->type);
    d.core_count = CPU_COUNT(&d.cores);
    d.quota = spec->quota;
    d.memory_bytes = spec->memory_gb * 1e9;
    fill_sheet(&d, spec);
    *device = d;
    return 0;
}

int cpus_same_type(const struct cpus_device *one, const struct cpus_device *other,
                   struct err *err)
{
    if (one->core_count == other->core_count && one->quota == other->quota &&
        one->memory_bytes == other->memory_bytes &&
        one->sheet.tdp_watts == other->sheet.tdp_watts &&
        one->sheet.idle_watts == other->sheet.idle_watts)
        return 0;
    return err_set(err, ERR_INVALID,
                   "two CPU devices of the type %s differ in cores, quota, memory or "
                   "watts: give them different types",
                   one->type);
}
