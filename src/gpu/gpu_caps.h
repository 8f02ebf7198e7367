/* gpu_caps.h - power limits: only with consent, within range, and put back
 *
 * A limit outlives the process that set it, so the original of every device is in a state
 * file, synced to disk, before the first change; gpu_caps_close() puts them back, and so
 * does the next gpu_caps_open() when a process died in between.  A device whose limit
 * somebody else changed meanwhile is left as it is. */
#ifndef CORGI_GPU_GPU_CAPS_H
#define CORGI_GPU_GPU_CAPS_H

#include "gpu/gpu_devices.h"

struct gpu_caps;

struct gpu_caps_options {
    const char *state_file; /* survives reboots or not: limits do not survive them */
    bool consent;           /* the operator said yes in the config */
};

/* First restores what an earlier process left, consent or not: it is a promise of that
 * process.  Restoring that fails is logged and kept in the file for the next time.  gpu
 * is borrowed.  Fails when another living process holds the state file. */
struct gpu_caps *gpu_caps_open(struct gpu *gpu, const struct gpu_caps_options *options,
                               struct err *err);

/* watts 0: the original limit.  GPU_DENIED without consent. */
enum gpu_status gpu_caps_set(struct gpu_caps *caps, int device, double watts,
                             struct err *err);

/* Put all devices back; the number that could not be. */
int gpu_caps_restore(struct gpu_caps *caps);

/* Restores, then ends it.  NULL is fine. */
void gpu_caps_close(struct gpu_caps *caps);

#endif
