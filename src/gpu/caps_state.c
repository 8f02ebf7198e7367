/* caps_state.c - the file of original power limits, read and written, see caps_state.h
 *
 * gpu_caps.c loads it when it opens and saves it before each change of a limit. */
#include "gpu/caps_state.h"

#include "base/file.h"
#include "base/json.h"
#include "base/json_out.h"
#include "base/str.h"
#include "gpu/sysfs.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

int caps_state_load(struct caps_state *state, const char *path, struct err *err)
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

void caps_state_remove(struct caps_state *state, struct caps_entry *entry)
{
    *entry = state->entries[--state->count];
}
