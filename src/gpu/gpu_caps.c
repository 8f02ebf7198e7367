/* gpu_caps.c - sets power limits and puts them back, see gpu_caps.h
 *
 * The local engine's local_devices.c opens it with the operator's consent and sets the
 * caps that the planner wants.  The file of original limits is loaded when it opens and
 * saved before each change of a limit. */
#include "gpu/gpu_caps.h"

#include "base/file.h"
#include "base/json.h"
#include "base/json_out.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "gpu/sysfs.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the file ---------------------------------------------------------------------- */

void caps_state_boot(char *boot, size_t size)
{
    if (sysfs_line("/proc/sys/kernel/random", "boot_id", boot, size) != GPU_OK)
        boot[0] = '\0';
}

static int read_entry(struct caps_entry *entry, const struct json_value *value,
                      struct err *err)
{
    const struct json_value *set = json_value_get(value, "set_watts");
    const char *uuid;

    if (json_value_need_string(value, "uuid", &uuid, err) < 0 ||
        json_value_need_number(value, "original_watts", 1, CAPS_STATE_MAX_WATTS,
                               &entry->original_watts, err) < 0)
        return -1;
    if (!uuid[0] || !str_copy(entry->uuid, sizeof(entry->uuid), uuid))
        return err_set(err, ERR_FORMAT, "a uuid is empty or too long");
    if (json_value_kind(set) != JSON_KIND_ARRAY || json_value_count(set) > 2)
        return err_set(err, ERR_FORMAT, "set_watts is not a list of at most two");
    for (size_t i = 0; i < 2; i++) {
        entry->set_watts[i] = NAN;
        if (i < json_value_count(set) &&
            (!json_value_number(json_value_item(set, i), &entry->set_watts[i]) ||
             !(entry->set_watts[i] >= 1 && entry->set_watts[i] <= CAPS_STATE_MAX_WATTS)))
            return err_set(err, ERR_FORMAT, "set_watts is not a list of powers");
    }
    return 0;
}

static int read_state(struct caps_state *state, const struct json_value *root,
                      struct err *err)
{
    const struct json_value *devices = json_value_get(root, "devices");
    const char *boot;

    if (json_value_need_string(root, "boot", &boot, err) < 0)
        return -1;
    if (!str_copy(state->boot, sizeof(state->boot), boot))
        return err_set(err, ERR_FORMAT, "boot is too long");
    if (json_value_kind(devices) != JSON_KIND_ARRAY ||
        json_value_count(devices) > GPU_MAX_DEVICES)
        return err_set(err, ERR_FORMAT, "devices is not a list of at most %d",
                       GPU_MAX_DEVICES);
    for (size_t i = 0; i < json_value_count(devices); i++) {
        struct caps_entry entry;

        if (read_entry(&entry, json_value_item(devices, i), err) < 0)
            return -1;
        if (caps_state_find(state, entry.uuid))
            return err_set(err, ERR_FORMAT, "%s is there twice", entry.uuid);
        state->entries[state->count++] = entry;
    }
    return 0;
}

int caps_state_parse(struct caps_state *state, const char *text, size_t length,
                     const char *name, struct err *err)
{
    struct caps_state read = {0};
    struct json_doc *doc;
    int rc;

    if (length > CAPS_STATE_MAX_BYTES)
        return err_set(err, ERR_LIMIT, "%s is too large for a state of power limits",
                       name);
    if (json_doc_parse(&doc, text, length, name, err) < 0)
        return -1;
    rc = read_state(&read, json_doc_root(doc), err);
    json_doc_destroy(doc);
    if (rc < 0)
        return err_prefix(err, "%s", name);
    *state = read;
    return 0;
}

/* No such file: an empty state. */
static int load_state(struct caps_state *state, const char *path, struct err *err)
{
    struct err why = {0};
    char *text;
    size_t length;
    int rc;

    if (file_read(path, CAPS_STATE_MAX_BYTES, &text, &length, &why) < 0) {
        if (why.code == ERR_NOT_FOUND) {
            memset(state, 0, sizeof(*state));
            return 0;
        }
        *err = why;
        return -1;
    }
    rc = caps_state_parse(state, text, length, path, err);
    free(text);
    return rc;
}

static void write_state(const struct caps_state *state, struct str *text)
{
    struct json_out out;

    json_out_init(&out, text, true);
    json_out_begin_object(&out);
    json_out_key_string(&out, "boot", state->boot);
    json_out_key(&out, "devices");
    json_out_begin_array(&out);
    for (int i = 0; i < state->count; i++) {
        const struct caps_entry *entry = &state->entries[i];

        json_out_begin_object(&out);
        json_out_key_string(&out, "uuid", entry->uuid);
        json_out_key_number(&out, "original_watts", entry->original_watts);
        json_out_key(&out, "set_watts");
        json_out_begin_array(&out);
        for (int j = 0; j < 2; j++)
            if (isfinite(entry->set_watts[j]))
                json_out_number(&out, entry->set_watts[j]);
        json_out_end(&out);
        json_out_end(&out);
    }
    json_out_end(&out);
    json_out_end(&out);
}

int caps_state_save(const struct caps_state *state, const char *path, struct err *err)
{
    struct str text = {0};
    int rc;

    if (state->count == 0) {
        if (unlink(path) < 0 && errno != ENOENT)
            return err_sys(err, "cannot remove %s", path);
        return 0;
    }
    write_state(state, &text);
    rc = file_write(path, text.text, text.length, err);
    str_fini(&text);
    return rc;
}

struct caps_entry *caps_state_find(struct caps_state *state, const char *uuid)
{
    for (int i = 0; i < state->count; i++)
        if (!strcmp(state->entries[i].uuid, uuid))
            return &state->entries[i];
    return NULL;
}

static void remove_entry(struct caps_state *state, struct caps_entry *entry)
{
    *entry = state->entries[--state->count];
}

/* ---- the limits -------------------------------------------------------------------- */

/* Drivers round limits; closer than this they are the same. */
#define SAME_WATTS 0.6

struct gpu_caps {
    struct gpu *gpu;
    bool consent;
    char *path;
    int lock_fd;
    struct caps_state state;
};

static bool same(double a, double b)
{
    return fabs(a - b) < SAME_WATTS; /* false for NaN */
}

static bool ours(const struct caps_entry *entry, double watts)
{
    return same(watts, entry->set_watts[0]) || same(watts, entry->set_watts[1]);
}

/* True when nothing is left to do for this entry. */
static bool restore_entry(struct gpu_caps *caps, const struct caps_entry *entry)
{
    int device = gpu_find_uuid(caps->gpu, entry->uuid);
    struct gpu_limit limit;
    struct err err = {0};
    enum gpu_status status = GPU_LOST;

    err_set(&err, ERR_NOT_FOUND, "the device is not there");
    if (device >= 0)
        status = gpu_limit(caps->gpu, device, &limit, &err);
    if (status == GPU_OK && same(limit.watts, entry->original_watts))
        return true;
    if (status == GPU_OK && !ours(entry, limit.watts)) {
        log_warn("power_limit_not_ours", LOG_STR("device", entry->uuid),
                 LOG_NUM("watts", limit.watts),
                 LOG_NUM("original_watts", entry->original_watts));
        return true;
    }
    if (status == GPU_OK)
        status = gpu_set_limit(caps->gpu, device, entry->original_watts, &err);
    if (status == GPU_OK) {
        log_info("power_limit_restored", LOG_STR("device", entry->uuid),
                 LOG_NUM("watts", entry->original_watts));
        return true;
    }
    log_error("power_limit_not_restored", LOG_STR("device", entry->uuid),
              LOG_NUM("original_watts", entry->original_watts), LOG_ERR(&err));
    return false;
}

int gpu_caps_restore(struct gpu_caps *caps)
{
    struct err err = {0};
    bool changed = false;

    for (int i = 0; i < caps->state.count;) {
        if (restore_entry(caps, &caps->state.entries[i])) {
            remove_entry(&caps->state, &caps->state.entries[i]);
            changed = true;
        } else {
            i++;
        }
    }
    if (changed && caps_state_save(&caps->state, caps->path, &err) < 0)
        log_error("power_limit_state", LOG_ERR(&err));
    return caps->state.count;
}

static void end(struct gpu_caps *caps)
{
    if (caps->lock_fd >= 0)
        close(caps->lock_fd);
    free(caps->path);
    free(caps);
}

static int load(struct gpu_caps *caps, struct err *err)
{
    char boot[64];

    if (load_state(&caps->state, caps->path, err) < 0)
        return -1;
    caps_state_boot(boot, sizeof(boot));
    if (strcmp(caps->state.boot, boot)) {
        /* Of another boot: the limits in it went with that. */
        caps->state.count = 0;
        str_copy(caps->state.boot, sizeof(caps->state.boot), boot);
        return caps_state_save(&caps->state, caps->path, err);
    }
    gpu_caps_restore(caps);
    return 0;
}

struct gpu_caps *gpu_caps_open(struct gpu *gpu, const char *state_file, bool consent,
                               struct err *err)
{
    struct gpu_caps *caps = mem_new(struct gpu_caps);

    caps->gpu = gpu;
    caps->consent = consent;
    caps->path = mem_strdup(state_file);
    /* Two processes that change the same limits would each restore the other's. */
    caps->lock_fd = file_lock(state_file, err);
    if (caps->lock_fd < 0 || load(caps, err) < 0) {
        end(caps);
        return NULL;
    }
    return caps;
}

/* Remember before doing: what was, what may be in force, what is about to be. */
static int remember(struct gpu_caps *caps, const char *uuid, double now, double watts,
                    struct err *err)
{
    struct caps_state next = caps->state;
    struct caps_entry *entry = caps_state_find(&next, uuid);

    if (!entry) {
        if (next.count == GPU_MAX_DEVICES)
            return err_set(err, ERR_LIMIT, "no more than %d limits", GPU_MAX_DEVICES);
        entry = &next.entries[next.count++];
        *entry = (struct caps_entry){.original_watts = now, .set_watts = {NAN, NAN}};
        str_copy(entry->uuid, sizeof(entry->uuid), uuid);
    } else if (!ours(entry, now)) {
        /* Somebody else set it since: theirs is what we give back. */
        entry->original_watts = now;
    }
    entry->set_watts[0] = ours(entry, now) ? now : NAN;
    entry->set_watts[1] = watts;
    if (caps_state_save(&next, caps->path, err) < 0)
        return -1;
    caps->state = next;
    return 0;
}

static enum gpu_status set(struct gpu_caps *caps, int device, double watts,
                           struct err *err)
{
    const char *uuid = gpu_device(caps->gpu, device)->uuid;
    struct gpu_limit limit;
    enum gpu_status status = gpu_limit(caps->gpu, device, &limit, err);

    if (status != GPU_OK)
        return status;
    if (!(watts >= limit.min_watts && watts <= limit.max_watts)) {
        err_set(err, ERR_INVALID, "a limit of %g W is outside %g to %g W", watts,
                limit.min_watts, limit.max_watts);
        return GPU_FAILED;
    }
    if (same(limit.watts, watts))
        return GPU_OK;
    if (remember(caps, uuid, limit.watts, watts, err) < 0)
        return GPU_FAILED;
    return gpu_set_limit(caps->gpu, device, watts, err);
}

enum gpu_status gpu_caps_set(struct gpu_caps *caps, int device, double watts,
                             struct err *err)
{
    struct caps_entry *entry =
        caps_state_find(&caps->state, gpu_device(caps->gpu, device)->uuid);

    if (!caps->consent) {
        err_set(err, ERR_INVALID,
                "power limits are not set: the config gives no consent to it");
        return GPU_DENIED;
    }
    if (watts != 0)
        return set(caps, device, watts, err);
    if (!entry)
        return GPU_OK;
    if (!restore_entry(caps, entry)) {
        err_set(err, ERR_SYSTEM, "the power limit could not be put back, see the log");
        return GPU_FAILED;
    }
    remove_entry(&caps->state, entry);
    return caps_state_save(&caps->state, caps->path, err) < 0 ? GPU_FAILED : GPU_OK;
}

void gpu_caps_close(struct gpu_caps *caps)
{
    if (!caps)
        return;
    gpu_caps_restore(caps);
    end(caps);
}
