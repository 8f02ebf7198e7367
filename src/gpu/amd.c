/* amd.c - AMD devices by the amdgpu driver's files in sysfs
 *
 * gpu_devices.c opens it and its watchdog calls it.  class/drm/cardN/device holds
 * identity, memory and utilisation, its hwmon folder power, temperature and the power
 * limit (all in micro-units), class/kfd the processes. */
#include "gpu/gpu_backend.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/parse.h"
#include "base/str.h"
#include "gpu/sysfs.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_CARDS  64
#define MAX_NODES  256
#define AMD_VENDOR 0x1002

struct card {
    char folder[SYSFS_PATH_SIZE]; /* .../cardN/device */
    char hwmon[SYSFS_PATH_SIZE];  /* "": none */
    char kfd_id[24];              /* "": not a compute device */
    bool seen;
    struct gpu_device device;
};

struct amd {
    char root[SYSFS_PATH_SIZE];
    pthread_mutex_t mutex; /* guards the cards: listing writes what reading copies */
    int count;
    struct card cards[MAX_CARDS];
};

/* location_id is bus << 8 | device << 3 | function. */
static bool at_place(const char *properties, const char *pci)
{
    unsigned domain, bus, device, function;
    char text[32];
    double location, of_domain = 0;

    if (sscanf(pci, "%x:%x:%x.%x", &domain, &bus, &device, &function) != 4 ||
        !sysfs_property(properties, "location_id", ' ', text, sizeof(text)) ||
        !sysfs_parse_number(text, &location))
        return false;
    if (sysfs_property(properties, "domain", ' ', text, sizeof(text)) &&
        !sysfs_parse_number(text, &of_domain))
        return false;
    return location == (bus << 8 | device << 3 | function) && of_domain == domain;
}

/* The driver's number of the device at this place on the bus; "" when it has none. */
static void find_kfd_id(const char *sysfs, const char *pci, char *id, size_t size)
{
    char folder[SYSFS_PATH_SIZE], node[SYSFS_PATH_SIZE];
    char properties[SYSFS_TEXT_SIZE];
    size_t count;
    char **names;

    id[0] = '\0';
    snprintf(folder, sizeof(folder), "%.400s/class/kfd/kfd/topology/nodes", sysfs);
    names = sysfs_names(folder, "", MAX_NODES, &count);
    for (size_t i = 0; i < count && !id[0]; i++) {
        snprintf(node, sizeof(node), "%.450s/%.20s", folder, names[i]);
        if (sysfs_text(node, "properties", properties, sizeof(properties)) == GPU_OK &&
            at_place(properties, pci) && sysfs_line(node, "gpu_id", id, size) != GPU_OK)
            id[0] = '\0';
    }
    sysfs_names_free(names, count);
}

/* The processes of the sample: pid and memory; the driver tells no utilisation. */
static void read_processes(const char *sysfs, const char *id, struct gpu_sample *sample)
{
    char folder[SYSFS_PATH_SIZE], process[SYSFS_PATH_SIZE], file[40];
    size_t count;
    char **names;

    snprintf(folder, sizeof(folder), "%.400s/class/kfd/kfd/proc", sysfs);
    snprintf(file, sizeof(file), "vram_%s", id);
    names = sysfs_names(folder, "", 4 * GPU_MAX_PROCESSES, &count);
    sample->processes_known = true;
    for (size_t i = 0; i < count; i++) {
        double bytes;
        int pid;

        snprintf(process, sizeof(process), "%.450s/%.20s", folder, names[i]);
        if (!parse_int(names[i], &pid) || pid <= 0 ||
            sysfs_number(process, file, &bytes) != GPU_OK || !(bytes > 0))
            continue;
        if (sample->process_count == GPU_MAX_PROCESSES) {
            sample->processes_cut = true;
            break;
        }
        sample->processes[sample->process_count++] =
            (struct gpu_process){.pid = pid, .utilisation = NAN, .memory_bytes = bytes};
    }
    sysfs_names_free(names, count);
}

static void find_hwmon(struct card *card)
{
    char folder[SYSFS_PATH_SIZE];
    size_t count;
    char **names;

    card->hwmon[0] = '\0';
    snprintf(folder, sizeof(folder), "%.480s/hwmon", card->folder);
    names = sysfs_names(folder, "hwmon", 4, &count);
    if (count > 0)
        snprintf(card->hwmon, sizeof(card->hwmon), "%.440s/%.40s", folder, names[0]);
    sysfs_names_free(names, count);
}

/* Which file tells power: older cards a mean, newer ones only the moment. */
static enum gpu_status read_watts(const char *hwmon, double *watts,
                                  enum gpu_method *method)
{
    double microwatts;
    enum gpu_status status = sysfs_number(hwmon, "power1_average", &microwatts);

    *method = GPU_METHOD_AVERAGE;
    if (status != GPU_OK) {
        status = sysfs_number(hwmon, "power1_input", &microwatts);
        *method = GPU_METHOD_INSTANT;
    }
    if (status != GPU_OK || !(microwatts > 0 && microwatts < GPU_MOST_WATTS * 1e6)) {
        *method = GPU_METHOD_NONE;
        *watts = NAN;
        return status;
    }
    *watts = microwatts / 1e6;
    return GPU_OK;
}

/* ROCR_VISIBLE_DEVICES takes "GPU-" and the unique id; cards without one go by their
 * place on the bus. */
static void identify(struct card *card)
{
    struct gpu_device *device = &card->device;
    char text[SYSFS_TEXT_SIZE], id[64];

    if (sysfs_text(card->folder, "uevent", text, sizeof(text)) != GPU_OK ||
        !sysfs_property(text, "PCI_SLOT_NAME", '=', device->pci, sizeof(device->pci)))
        device->pci[0] = '\0';
    if (sysfs_line(card->folder, "unique_id", id, sizeof(id)) == GPU_OK && id[0])
        snprintf(device->uuid, sizeof(device->uuid), "GPU-%s", id);
    else
        snprintf(device->uuid, sizeof(device->uuid), "GPU-pci-%s", device->pci);
    if (sysfs_line(card->folder, "product_name", device->name, sizeof(device->name)) !=
            GPU_OK ||
        !device->name[0])
        str_copy(device->name, sizeof(device->name), "AMD device");
}

static void describe(struct card *card)
{
    struct gpu_device *device = &card->device;
    double number;

    device->backend = "amd";
    device->kind = GPU_KIND_GPU;
    device->parent = -1;
    device->sheet = gpu_find(device->name);
    if (sysfs_number(card->folder, "mem_info_vram_total", &number) == GPU_OK)
        device->memory_bytes = number;
    sysfs_line(card->folder, "driver/module/version", device->driver,
               sizeof(device->driver));
    find_hwmon(card);
    if (card->hwmon[0]) {
        read_watts(card->hwmon, &number, &device->power_method);
        device->has_limit = sysfs_number(card->hwmon, "power1_cap", &number) == GPU_OK;
    }
    if (device->power_method == GPU_METHOD_NONE)
        str_copy(device->note, sizeof(device->note),
                 "the driver tells no power of this card: it is modelled");
}

/* With the mutex held: a card of this folder, new or again. */
static void note_card(struct amd *amd, const struct card *found)
{
    for (int i = 0; i < amd->count; i++) {
        struct card *card = &amd->cards[i];

        if (strcmp(card->device.uuid, found->device.uuid))
            continue;
        *card = *found;
        card->seen = true;
        return;
    }
    if (amd->count < MAX_CARDS) {
        amd->cards[amd->count] = *found;
        amd->cards[amd->count++].seen = true;
    }
}

static bool look_at(const struct amd *amd, const char *name, struct card *card)
{
    double vendor;

    memset(card, 0, sizeof(*card));
    if (strchr(name, '-')) /* a connector: card0-DP-1 */
        return false;
    snprintf(card->folder, sizeof(card->folder), "%.380s/class/drm/%.60s/device",
             amd->root, name);
    if (sysfs_number(card->folder, "vendor", &vendor) != GPU_OK || vendor != AMD_VENDOR)
        return false;
    identify(card);
    describe(card);
    find_kfd_id(amd->root, card->device.pci, card->kfd_id, sizeof(card->kfd_id));
    return true;
}

static enum gpu_status amd_list(void *self, struct gpu_device *devices, int capacity,
                                int *count, struct err *err)
{
    struct amd *amd = self;
    char folder[SYSFS_PATH_SIZE];
    size_t name_count;
    char **names;
    int i;

    (void)err;
    snprintf(folder, sizeof(folder), "%.400s/class/drm", amd->root);
    names = sysfs_names(folder, "card", 4 * MAX_CARDS, &name_count);
    pthread_mutex_lock(&amd->mutex);
    for (i = 0; i < amd->count; i++)
        amd->cards[i].seen = false;
    pthread_mutex_unlock(&amd->mutex);
    for (size_t n = 0; n < name_count; n++) {
        struct card card;

        if (!look_at(amd, names[n], &card))
            continue;
        pthread_mutex_lock(&amd->mutex);
        note_card(amd, &card);
        pthread_mutex_unlock(&amd->mutex);
    }
    sysfs_names_free(names, name_count);
    pthread_mutex_lock(&amd->mutex);
    for (i = 0; i < amd->count && i < capacity; i++) {
        amd->cards[i].device.status = amd->cards[i].seen ? GPU_OK : GPU_LOST;
        devices[i] = amd->cards[i].device;
    }
    pthread_mutex_unlock(&amd->mutex);
    *count = i;
    return GPU_OK;
}

static enum gpu_status copy_card(struct amd *amd, int device, struct card *card,
                                 struct err *err)
{
    char vendor[32];

    pthread_mutex_lock(&amd->mutex);
    *card = amd->cards[device];
    pthread_mutex_unlock(&amd->mutex);
    if (sysfs_line(card->folder, "vendor", vendor, sizeof(vendor)) == GPU_OK)
        return GPU_OK;
    err_set(err, ERR_NOT_FOUND, "the device is lost: %s is gone", card->folder);
    return GPU_LOST;
}

static enum gpu_status amd_read(void *self, int device, struct gpu_sample *sample,
                                struct err *err)
{
    struct amd *amd = self;
    struct card card;
    struct gpu_sample now;
    double number;
    enum gpu_status status = copy_card(amd, device, &card, err);

    if (status != GPU_OK)
        return status;
    gpu_sample_clear(&now);
    now.at_s = clock_wall_s();
    if (card.hwmon[0]) {
        if (read_watts(card.hwmon, &now.watts, &now.method) == GPU_OK)
            now.watts_error = GPU_SENSOR_ERROR * now.watts;
        if (sysfs_number(card.hwmon, "power1_cap", &number) == GPU_OK && number > 0)
            now.limit_watts = number / 1e6;
        if (sysfs_number(card.hwmon, "temp1_input", &number) == GPU_OK && number > -1e5 &&
            number < 2e5)
            now.temperature_c = number / 1000;
        if (sysfs_number(card.hwmon, "energy1_input", &number) == GPU_OK)
            now.energy_joules = number / 1e6;
    }
    if (sysfs_number(card.folder, "gpu_busy_percent", &number) == GPU_OK && number >= 0 &&
        number <= 100)
        now.utilisation = number / 100;
    if (sysfs_number(card.folder, "mem_info_vram_used", &number) == GPU_OK)
        now.memory_used_bytes = number;
    if (card.kfd_id[0])
        read_processes(amd->root, card.kfd_id, &now);
    *sample = now;
    return GPU_OK;
}

static enum gpu_status amd_limit(void *self, int device, struct gpu_limit *limit,
                                 struct err *err)
{
    struct card card;
    double now, min = 0, max, usual;
    enum gpu_status status = copy_card(self, device, &card, err);

    if (status != GPU_OK)
        return status;
    if (!card.hwmon[0] || sysfs_number(card.hwmon, "power1_cap", &now) != GPU_OK ||
        sysfs_number(card.hwmon, "power1_cap_max", &max) != GPU_OK || !(max > 0)) {
        err_set(err, ERR_UNSUPPORTED, "this card has no power limit");
        return GPU_UNSUPPORTED;
    }
    sysfs_number(card.hwmon, "power1_cap_min", &min);
    limit->watts = now / 1e6;
    limit->min_watts = min / 1e6;
    limit->max_watts = max / 1e6;
    limit->default_watts =
        sysfs_number(card.hwmon, "power1_cap_default", &usual) == GPU_OK ? usual / 1e6
                                                                         : NAN;
    /* The driver takes zero for the lowest; no card works there: the sheet decides. */
    if (min <= 0 && card.device.sheet)
        limit->min_watts = fmin(card.device.sheet->cap_min_watts, limit->max_watts);
    return GPU_OK;
}

static enum gpu_status amd_set_limit(void *self, int device, double watts,
                                     struct err *err)
{
    struct card card;
    enum gpu_status status = copy_card(self, device, &card, err);

    if (status != GPU_OK)
        return status;
    return sysfs_write_number(card.hwmon, "power1_cap", round(watts * 1e6), err);
}

static void amd_destroy(void *self)
{
    struct amd *amd = self;

    pthread_mutex_destroy(&amd->mutex);
    free(amd);
}

enum gpu_status gpu_amd_open(struct gpu_backend *backend, const char *sysfs,
                             struct err *err)
{
    static const struct gpu_ops ops = {
        .name = "amd",
        .list = amd_list,
        .read = amd_read,
        .limit = amd_limit,
        .set_limit = amd_set_limit,
        .destroy = amd_destroy,
    };
    struct amd *amd = mem_new(struct amd);

    (void)err;
    str_copy(amd->root, sizeof(amd->root), sysfs ? sysfs : "/sys");
    pthread_mutex_init(&amd->mutex, NULL);
    *backend = (struct gpu_backend){.ops = &ops, .self = amd};
    return GPU_OK;
}
