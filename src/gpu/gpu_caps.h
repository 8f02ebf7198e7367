/* gpu_caps.h - power limits: only with consent, within range, and put back
 *
 * A limit outlives the process that set it, so the original of every device is in a state
 * file, synced to disk, before the first change; gpu_caps_close() puts them back, and so
 * does the next gpu_caps_open() when a process died in between.  A device whose limit
 * somebody else changed meanwhile is left as it is. */
#pragma once

#include "gpu/gpu_devices.h"

struct gpu_caps;

/* First restores what an earlier process left, with the operator's consent or without: it
 * is a promise of that process.  Restoring that fails is logged and kept in the file for
 * the next time.  gpu is borrowed.  Fails when another living process holds the file. */
struct gpu_caps *gpu_caps_open(struct gpu *gpu, const char *state_file, bool consent,
                               struct err *err);

/* watts 0: the original limit.  GPU_DENIED without consent. */
enum gpu_status gpu_caps_set(struct gpu_caps *caps, int device, double watts,
                             struct err *err);

/* Put all devices back; the number that could not be. */
int gpu_caps_restore(struct gpu_caps *caps);

/* Restores, then ends it.  NULL is fine. */
void gpu_caps_close(struct gpu_caps *caps);

/* ---- the state file ---------------------------------------------------------------- */

/* It remembers which power limits are ours to put back:
 *
 *     {"boot":"…","devices":[{"uuid":"GPU-…","original_watts":300,"set_watts":[250,200]}]}
 *
 * set_watts are the limits that may be in force because of us: the one before and the one
 * that was about to be set.  See docs/telemetry.md. */
#define CAPS_STATE_MAX_BYTES ((size_t)256 << 10)
#define CAPS_STATE_MAX_WATTS 100000.0

struct caps_entry {
    char uuid[GPU_UUID_SIZE];
    double original_watts;
    double set_watts[2]; /* NaN: none */
};

struct caps_state {
    char boot[64]; /* limits do not outlive the boot they were set in */
    int count;
    struct caps_entry entries[GPU_MAX_DEVICES];
};

/* This boot of this machine; "" when the kernel does not tell. */
void caps_state_boot(char *boot, size_t size);

/* ERR_FORMAT for what is not one. */
int caps_state_parse(struct caps_state *state, const char *text, size_t length,
                     const char *name, struct err *err);

/* On disk when it returns 0: a crash after that cannot lose it.  Nothing to remember:
 * the file is removed. */
int caps_state_save(const struct caps_state *state, const char *path, struct err *err);

struct caps_entry *caps_state_find(struct caps_state *state, const char *uuid);
