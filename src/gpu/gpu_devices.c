/* gpu_devices.c - the machine as one list of devices, see gpu_devices.h
 *
 * `corgi devices`, the sampler (for the local engine) and corgi-probe open it and read
 * devices by number.  A slot is a device for good; it belongs to a source, a backend
 * behind its watchdog.  A second source may know more of the same device: rocm_smi adds
 * what sysfs does not tell.  Backends find an empty sample and the model of power here,
 * tables and JSON the names. */
#include "gpu/gpu_devices.h"

#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"
#include "world/power.h"

#include <assert.h>
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what backends fill in, and its names ------------------------------------------ */

/* Errors of the model, of the dynamic range.  "Utilisation" is the share of time with
 * something running, which says little of how hard it runs.  Busy devices at the same
 * utilisation differ by about this much from one kind of job to another; near idle there
 * is less to be wrong about. */
#define BUSY_ERROR 0.25
#define IDLE_ERROR 0.05
#define BLIND      0.29 /* sd of a uniform guess between idle and full */

double gpu_model_watts(const struct gpu_sheet *sheet, double utilisation,
                       double *error_watts)
{
    bool known = isfinite(utilisation);
    double busy = known ? fmin(fmax(utilisation, 0), 1) : 0.5;
    double range = sheet->tdp_watts - sheet->idle_watts;
    double spread = known ? IDLE_ERROR + (BUSY_ERROR - IDLE_ERROR) * busy : BLIND;

    if (error_watts)
        *error_watts = spread * range;
    return power_draw_watts(sheet, busy);
}

const char *const gpu_status_names[] = {"ok",   "unsupported", "denied",
                                        "lost", "hung",        "failed"};
const char *const gpu_kind_names[] = {"gpu", "mig", "cpu"};
const char *const gpu_method_names[] = {"none", "instant", "average-1s",
                                        "energy-difference", "model"};

const char *gpu_throttle_text(unsigned throttle, char *out, size_t size)
{
    static const char *const words[] = {"idle",  "power",  "heat",
                                        "brake", "clocks", "other"};
    size_t used = 0;

    out[0] = '\0';
    for (size_t bit = 0; bit < sizeof(words) / sizeof(words[0]); bit++)
        if (throttle & 1u << bit && used + strlen(words[bit]) + 1 < size)
            used += (size_t)snprintf(out + used, size - used, "%s%s", used ? "," : "",
                                     words[bit]);
    return out;
}

const char *gpu_find_symbols(void *library, const struct gpu_symbol *symbols,
                             void *functions)
{
    for (const struct gpu_symbol *s = symbols; s->names[0]; s++) {
        void *address = NULL;

        for (size_t n = 0; !address && n < 3 && s->names[n]; n++)
            address = dlsym(library, s->names[n]);
        if (!address && s->needed)
            return s->names[0];
        memcpy((char *)functions + s->offset, &address, sizeof(address));
    }
    return NULL;
}

void gpu_sample_clear(struct gpu_sample *sample)
{
    memset(sample, 0, sizeof(*sample));
    sample->watts = sample->watts_error = sample->energy_joules = NAN;
    sample->utilisation = sample->memory_used_bytes = NAN;
    sample->temperature_c = sample->limit_watts = NAN;
}

/* ---- the list ---------------------------------------------------------------------- */

#define MAX_SOURCES 5

struct slot_place {
    int source; /* -1: none */
    int index;  /* in the source */
};

struct gpu_slot {
    const struct gpu_device *device;
    struct slot_place first, second;
};

struct gpu_source {
    struct gpu_backend backend;
    int slots[GPU_MAX_DEVICES]; /* (known) */
    int known;
};

struct gpu {
    double deadline_s, list_deadline_s;
    struct gpu_source sources[MAX_SOURCES];
    int source_count;
    struct str remarks;
    pthread_mutex_t scan;  /* one rescan at a time; guards the sources' slots */
    pthread_mutex_t mutex; /* guards what is below; never held inside a backend */
    int count;
    struct gpu_slot slots[GPU_MAX_DEVICES]; /* (count) */
    vec_of(struct gpu_device *) kept;       /* all that were ever lent */
};

static struct gpu_device *keep(struct gpu *gpu, const struct gpu_device *device)
{
    struct gpu_device *copy = mem_dup(device, 1, sizeof(*device));

    vec_push(&gpu->kept, copy);
    return copy;
}

static bool same_description(const struct gpu_device *a, const struct gpu_device *b)
{
    return a->partitioned == b->partitioned && a->has_energy == b->has_energy &&
           a->has_limit == b->has_limit && a->power_method == b->power_method &&
           a->parent == b->parent && !strcmp(a->driver, b->driver) &&
           !strcmp(a->note, b->note);
}

static int add_slot(struct gpu *gpu, const struct gpu_device *device,
                    struct slot_place place)
{
    if (gpu->count == GPU_MAX_DEVICES)
        return -1;
    gpu->slots[gpu->count] = (struct gpu_slot){
        .device = keep(gpu, device), .first = place, .second.source = -1};
    return gpu->count++;
}

static int find_twin(const struct gpu *gpu, const struct gpu_device *device)
{
    for (int i = 0; i < gpu->count; i++) {
        const struct gpu_device *other = gpu->slots[i].device;

        if (!strcmp(other->uuid, device->uuid) ||
            (device->pci[0] && device->kind == GPU_KIND_GPU &&
             other->kind == GPU_KIND_GPU && !strcmp(other->pci, device->pci)))
            return i;
    }
    return -1;
}

/* A second source adds to a device that is there already. */
static void join(struct gpu *gpu, int index, const struct gpu_device *device,
                 struct slot_place place)
{
    struct gpu_slot *slot = &gpu->slots[index];
    struct gpu_device joined = *slot->device;

    slot->second = place;
    joined.has_energy = joined.has_energy || device->has_energy;
    if (joined.power_method == GPU_METHOD_NONE)
        joined.power_method = device->power_method;
    if (!joined.sheet)
        joined.sheet = device->sheet;
    slot->device = keep(gpu, &joined);
}

static void update(struct gpu *gpu, struct gpu_slot *slot,
                   const struct gpu_device *device)
{
    if (slot->second.source < 0 && !same_description(slot->device, device))
        slot->device = keep(gpu, device);
}

/* With both mutexes held. */
static void take_list(struct gpu *gpu, int source, struct gpu_device *devices, int count)
{
    struct gpu_source *from = &gpu->sources[source];

    for (int i = 0; i < count; i++) {
        struct gpu_device *device = &devices[i];
        struct slot_place place = {.source = source, .index = i};

        if (device->parent >= 0)
            device->parent = from->slots[device->parent];
        if (i < from->known) {
            if (from->slots[i] >= 0 && gpu->slots[from->slots[i]].first.source == source)
                update(gpu, &gpu->slots[from->slots[i]], device);
            continue;
        }
        from->slots[i] = find_twin(gpu, device);
        if (from->slots[i] >= 0)
            join(gpu, from->slots[i], device, place);
        else
            from->slots[i] = add_slot(gpu, device, place);
        from->known = i + 1;
    }
}

static enum gpu_status scan_source(struct gpu *gpu, int source, struct err *err)
{
    struct gpu_device *devices = mem_array(struct gpu_device, GPU_MAX_DEVICES);
    struct gpu_backend backend = gpu->sources[source].backend;
    int count = 0;
    enum gpu_status status =
        backend.ops->list(backend.self, devices, GPU_MAX_DEVICES, &count, err);

    pthread_mutex_lock(&gpu->mutex);
    if (status == GPU_OK)
        take_list(gpu, source, devices, count);
    pthread_mutex_unlock(&gpu->mutex);
    free(devices);
    return status;
}

static void remark(struct gpu *gpu, const char *backend, const char *sentence)
{
    str_addf(&gpu->remarks, "%s%s: %s", gpu->remarks.length ? "\n" : "", backend,
             sentence);
}

/* Take an opened backend in, or say why there is none.  One that finds nothing now is
 * kept if it was there at all: devices may come. */
static void add_source(struct gpu *gpu, const char *name, enum gpu_status opened,
                       struct gpu_backend backend, struct err *err)
{
    int source = gpu->source_count;

    if (opened == GPU_OK) {
        gpu->sources[source].backend =
            gpu_watchdog(backend, gpu->deadline_s, gpu->list_deadline_s);
        gpu->source_count++;
        opened = scan_source(gpu, source, err);
    }
    if (opened != GPU_OK)
        remark(gpu, name, err->text);
}

static bool has_processor(const struct gpu *gpu)
{
    for (int i = 0; i < gpu->count; i++)
        if (gpu->slots[i].device->kind == GPU_KIND_CPU &&
            gpu->slots[i].device->status == GPU_OK)
            return true;
    return false;
}

static void open_sources(struct gpu *gpu, const struct gpu_options *o, unsigned wanted)
{
    struct gpu_backend b = {0};
    struct err err = {0};

    if (wanted & GPU_BACKEND_NVML)
        add_source(gpu, "nvml", gpu_nvml_open(&b, o->nvml_library, &err), b, &err);
    if (wanted & GPU_BACKEND_AMD) {
        int before = gpu->count;

        add_source(gpu, "amd", gpu_amd_open(&b, o->sysfs, &err), b, &err);
        /* The library reads the same files; without them it has nothing to add. */
        if (gpu->count > before || o->rocm_library)
            add_source(gpu, "rocm", gpu_rocm_open(&b, o->rocm_library, &err), b, &err);
    }
    if (wanted & GPU_BACKEND_RAPL)
        add_source(gpu, "rapl", gpu_rapl_open(&b, o->sysfs, &err), b, &err);
    if (wanted & GPU_BACKEND_NONE && !has_processor(gpu))
        add_source(gpu, "none", gpu_cpu_model_open(&b, o->proc, &err), b, &err);
}

struct gpu *gpu_open(const struct gpu_options *options, struct err *err)
{
    unsigned wanted = options->backends ? options->backends : GPU_BACKEND_ALL;
    struct gpu *gpu;

    if (wanted & ~(unsigned)GPU_BACKEND_ALL || options->deadline_s < 0 ||
        options->list_deadline_s < 0 || options->deadline_s > 600 ||
        options->list_deadline_s > 600) {
        err_set(err, ERR_INVALID, "an option of the telemetry is out of range");
        return NULL;
    }
    gpu = mem_new(struct gpu);
    gpu->deadline_s = options->deadline_s > 0 ? options->deadline_s : GPU_DEADLINE_S;
    gpu->list_deadline_s =
        options->list_deadline_s > 0 ? options->list_deadline_s : GPU_LIST_DEADLINE_S;
    pthread_mutex_init(&gpu->scan, NULL);
    pthread_mutex_init(&gpu->mutex, NULL);
    open_sources(gpu, options, wanted);
    return gpu;
}

void gpu_close(struct gpu *gpu)
{
    if (!gpu)
        return;
    for (int i = 0; i < gpu->source_count; i++)
        gpu->sources[i].backend.ops->destroy(gpu->sources[i].backend.self);
    vec_each (struct gpu_device *, device, &gpu->kept)
        free(*device);
    vec_free(&gpu->kept);
    str_fini(&gpu->remarks);
    pthread_mutex_destroy(&gpu->scan);
    pthread_mutex_destroy(&gpu->mutex);
    free(gpu);
}

int gpu_rescan(struct gpu *gpu)
{
    struct err err;

    pthread_mutex_lock(&gpu->scan);
    for (int i = 0; i < gpu->source_count; i++)
        scan_source(gpu, i, &err);
    pthread_mutex_unlock(&gpu->scan);
    return gpu_count(gpu);
}

int gpu_count(struct gpu *gpu)
{
    int count;

    pthread_mutex_lock(&gpu->mutex);
    count = gpu->count;
    pthread_mutex_unlock(&gpu->mutex);
    return count;
}

/* A slot stays where it is, its places too; what changes is read under the mutex. */
static struct gpu_slot slot_at(struct gpu *gpu, int device)
{
    struct gpu_slot slot;

    pthread_mutex_lock(&gpu->mutex);
    assert(device >= 0 && device < gpu->count);
    slot = gpu->slots[device];
    pthread_mutex_unlock(&gpu->mutex);
    return slot;
}

const struct gpu_device *gpu_device(struct gpu *gpu, int device)
{
    return slot_at(gpu, device).device;
}

int gpu_find_uuid(struct gpu *gpu, const char *uuid)
{
    int found = -1;

    pthread_mutex_lock(&gpu->mutex);
    for (int i = 0; i < gpu->count && found < 0; i++)
        if (!strcmp(gpu->slots[i].device->uuid, uuid))
            found = i;
    pthread_mutex_unlock(&gpu->mutex);
    return found;
}

const char *gpu_remarks(const struct gpu *gpu)
{
    return str_text(&gpu->remarks);
}

/* Fill in the figures that the first source left open. */
static void complete(struct gpu_sample *sample, const struct gpu_sample *more)
{
    if (isnan(sample->energy_joules) && isfinite(more->energy_joules)) {
        /* Counter and time belong together. */
        sample->energy_joules = more->energy_joules;
        sample->at_s = more->at_s;
    }
    if (isnan(sample->watts) && isfinite(more->watts)) {
        sample->watts = more->watts;
        sample->watts_error = more->watts_error;
        sample->method = more->method;
    }
    if (isnan(sample->utilisation))
        sample->utilisation = more->utilisation;
    if (isnan(sample->memory_used_bytes))
        sample->memory_used_bytes = more->memory_used_bytes;
    if (isnan(sample->temperature_c))
        sample->temperature_c = more->temperature_c;
    if (isnan(sample->limit_watts))
        sample->limit_watts = more->limit_watts;
}

static enum gpu_status read_slot(struct gpu *gpu, const struct gpu_slot *slot,
                                 struct gpu_sample *sample, struct err *err)
{
    struct gpu_backend first = gpu->sources[slot->first.source].backend;
    enum gpu_status status = first.ops->read(first.self, slot->first.index, sample, err);
    struct gpu_sample more;

    if (status == GPU_OK && slot->second.source >= 0) {
        struct gpu_backend second = gpu->sources[slot->second.source].backend;
        struct err ignored;

        if (second.ops->read(second.self, slot->second.index, &more, &ignored) == GPU_OK)
            complete(sample, &more);
    }
    return status;
}

enum gpu_status gpu_read(struct gpu *gpu, int device, struct gpu_sample *sample,
                         struct err *err)
{
    struct gpu_slot slot = slot_at(gpu, device);
    struct gpu_sample now;
    enum gpu_status status = read_slot(gpu, &slot, &now, err);

    if (status != GPU_OK)
        return status;
    if (isnan(now.watts) && slot.device->sheet && slot.device->kind != GPU_KIND_MIG) {
        now.watts =
            gpu_model_watts(slot.device->sheet, now.utilisation, &now.watts_error);
        now.method = GPU_METHOD_MODEL;
    }
    *sample = now;
    return GPU_OK;
}

enum gpu_status gpu_limit(struct gpu *gpu, int device, struct gpu_limit *limit,
                          struct err *err)
{
    struct gpu_slot slot = slot_at(gpu, device);
    struct gpu_backend backend;

    if (!slot.device->has_limit) {
        err_set(err, ERR_UNSUPPORTED, "this device has no power limit");
        return GPU_UNSUPPORTED;
    }
    backend = gpu->sources[slot.first.source].backend;
    return backend.ops->limit(backend.self, slot.first.index, limit, err);
}

enum gpu_status gpu_set_limit(struct gpu *gpu, int device, double watts, struct err *err)
{
    struct gpu_slot slot = slot_at(gpu, device);
    struct gpu_limit limit;
    struct gpu_backend backend;
    enum gpu_status status = gpu_limit(gpu, device, &limit, err);

    if (status != GPU_OK)
        return status;
    if (!(watts >= limit.min_watts && watts <= limit.max_watts)) {
        err_set(err, ERR_INVALID, "a limit of %g W is outside %g to %g W", watts,
                limit.min_watts, limit.max_watts);
        return GPU_FAILED;
    }
    backend = gpu->sources[slot.first.source].backend;
    return backend.ops->set_limit(backend.self, slot.first.index, watts, err);
}
