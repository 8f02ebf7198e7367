/* gpus.c - the GPUs of this machine as the engine uses them, see gpus.h
 *
 * local_devices.c opens it and takes its readings; device_power.c asks for energy. */
#include "engine/local/gpus.h"

#include "base/mem.h"
#include "base/str.h"
#include "gpu/gpu_caps.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PERIOD_S 1.0 /* between two samples */

struct gathered {
    double joules;
    double seconds;
    bool modelled;
};

struct gpus {
    struct gpu *gpu;
    struct gpu_caps *caps; /* NULL: power limits are not touched */
    struct gpu_sampler *sampler;
    int count;
    int devices[GPU_MAX_DEVICES];             /* (count) their indices in telemetry */
    struct gpu_sheet sheets[GPU_MAX_DEVICES]; /* (count) */
    /* By index in telemetry: energy since it was last asked for, and what is wrong. */
    struct gathered gathered[GPU_MAX_DEVICES];
    enum gpu_status status[GPU_MAX_DEVICES];
    struct err errs[GPU_MAX_DEVICES];
};

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

static void fill_sheet(struct gpus *g, const struct gpu_device *device, bool caps,
                       struct gpu_sheet *sheet)
{
    const struct gpu_device *whole =
        device->kind == GPU_KIND_MIG ? gpu_device(g->gpu, device->parent) : device;

    if (whole->sheet)
        *sheet = *whole->sheet;
    else
        sheet_of_stranger(whole, sheet);
    if (!caps || !whole->has_limit)
        sheet->cap_min_watts = 0;
    if (device != whole)
        sheet_of_part(device, whole, sheet);
}

static void find_devices(struct gpus *g, bool caps)
{
    for (int i = 0; i < gpu_count(g->gpu) && i < GPU_MAX_DEVICES; i++) {
        const struct gpu_device *device = gpu_device(g->gpu, i);

        if (device->kind == GPU_KIND_CPU || device->partitioned ||
            device->status == GPU_LOST)
            continue;
        fill_sheet(g, device, caps, &g->sheets[g->count]);
        g->devices[g->count++] = i;
    }
}

struct gpus *gpus_open(const struct gpus_options *o, struct err *err)
{
    struct gpus *g = mem_new(struct gpus);
    struct gpu_options options = *o->gpu;
    unsigned wanted = options.backends ? options.backends : GPU_BACKEND_ALL;

    /* The model of the whole processor is of no use: CPU devices have their own. */
    wanted &= ~(unsigned)GPU_BACKEND_NONE;
    options.backends = o->devices ? wanted : wanted & GPU_BACKEND_RAPL;
    if (options.backends == 0) {
        err_set(err, ERR_INVALID, "no way of finding devices is left by the options");
        goto failed;
    }
    g->gpu = gpu_open(&options, err);
    if (!g->gpu)
        goto failed;
    if (o->devices) {
        g->caps = gpu_caps_open(
            g->gpu,
            &(struct gpu_caps_options){.state_file = o->caps_file, .consent = o->caps},
            err);
        if (!g->caps)
            goto failed;
        find_devices(g, o->caps);
    }
    g->sampler = gpu_sampler_start(g->gpu, PERIOD_S, err);
    if (g->sampler)
        return g;
failed:
    gpus_close(g);
    return NULL;
}

void gpus_close(struct gpus *g)
{
    if (!g)
        return;
    gpu_sampler_stop(g->sampler);
    gpu_caps_close(g->caps);
    gpu_close(g->gpu);
    free(g);
}

int gpus_fd(const struct gpus *g)
{
    return gpu_sampler_fd(g->sampler);
}

static int gpu_of(const struct gpus *g, int device)
{
    for (int i = 0; i < g->count; i++)
        if (g->devices[i] == device)
            return i;
    return -1;
}

void gpus_pump(struct gpus *g, gpus_interval *interval, void *ctx)
{
    struct gpu_reading *r = mem_new(struct gpu_reading);

    while (gpu_sampler_take(g->sampler, r)) {
        struct gathered *sum = &g->gathered[r->device];

        g->status[r->device] = r->status;
        if (r->status != GPU_OK)
            g->errs[r->device] = r->err;
        if (!r->has_interval)
            continue;
        sum->joules += r->interval.joules;
        sum->seconds += r->interval.to_s - r->interval.from_s;
        sum->modelled = sum->modelled || r->interval.method == GPU_METHOD_MODEL;
        if (gpu_of(g, r->device) >= 0)
            interval(ctx, gpu_of(g, r->device), r);
    }
    free(r);
}

int gpus_count(const struct gpus *g)
{
    return g->count;
}

const char *gpus_uuid(const struct gpus *g, int gpu)
{
    return gpu_device(g->gpu, g->devices[gpu])->uuid;
}

bool gpus_is_part(const struct gpus *g, int gpu)
{
    return gpu_device(g->gpu, g->devices[gpu])->kind == GPU_KIND_MIG;
}

const struct gpu_sheet *gpus_sheet(const struct gpus *g, int gpu)
{
    return &g->sheets[gpu];
}

static bool take(struct gathered *sum, struct gpus_energy *energy)
{
    if (!(sum->seconds > 0))
        return false;
    *energy = (struct gpus_energy){sum->joules, sum->seconds, sum->modelled};
    *sum = (struct gathered){0};
    return true;
}

/* An instance has no meter: it is taken to draw its part of the whole.  The whole's
 * energy is asked for by each of its parts, so it stays until the last has asked. */
static bool energy_of_part(struct gpus *g, int gpu, int parent,
                           struct gpus_energy *energy)
{
    double all_gb = 0;
    struct gathered *sum = &g->gathered[parent];
    int last = gpu;

    for (int i = 0; i < g->count; i++)
        if (gpu_device(g->gpu, g->devices[i])->parent == parent) {
            all_gb += g->sheets[i].memory_gb;
            last = i;
        }
    if (!(sum->seconds > 0) || !(all_gb > 0))
        return false;
    *energy = (struct gpus_energy){sum->joules * g->sheets[gpu].memory_gb / all_gb,
                                   sum->seconds, true};
    if (gpu == last)
        *sum = (struct gathered){0};
    return true;
}

bool gpus_energy(struct gpus *g, int gpu, struct gpus_energy *energy)
{
    const struct gpu_device *device = gpu_device(g->gpu, g->devices[gpu]);

    if (device->kind == GPU_KIND_MIG)
        return energy_of_part(g, gpu, device->parent, energy);
    return take(&g->gathered[g->devices[gpu]], energy);
}

bool gpus_package_energy(struct gpus *g, struct gpus_energy *energy)
{
    struct gpus_energy all = {0}, one;
    bool any = false;

    for (int i = 0; i < gpu_count(g->gpu) && i < GPU_MAX_DEVICES; i++) {
        if (gpu_device(g->gpu, i)->kind != GPU_KIND_CPU || !take(&g->gathered[i], &one))
            continue;
        any = true;
        all.joules += one.joules;
        all.seconds = fmax(all.seconds, one.seconds);
        all.modelled = all.modelled || one.modelled;
    }
    if (any)
        *energy = all;
    return any;
}

bool gpus_present(const struct gpus *g, int gpu, const char **text)
{
    int i = g->devices[gpu];

    *text = g->errs[i].text;
    return g->status[i] != GPU_LOST && g->status[i] != GPU_HUNG;
}

int gpus_cap(struct gpus *g, int gpu, double watts, struct err *err)
{
    return gpu_caps_set(g->caps, g->devices[gpu], watts, err) == GPU_OK ? 0 : -1;
}
