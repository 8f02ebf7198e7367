/* caps_state.h - the file that remembers which power limits are ours to put back
 *
 *     {"boot":"…","devices":[{"uuid":"GPU-…","original_watts":300,"set_watts":[250,200]}]}
 *
 * set_watts are the limits that may be in force because of us: the one before and the one
 * that was about to be set.  See docs/telemetry.md. */
#ifndef CORGI_GPU_CAPS_STATE_H
#define CORGI_GPU_CAPS_STATE_H

#include "gpu/gpu_backend.h"

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

/* No such file: an empty state.  ERR_FORMAT for what is not one. */
int caps_state_load(struct caps_state *state, const char *path, struct err *err);
int caps_state_parse(struct caps_state *state, const char *text, size_t length,
                     const char *name, struct err *err);

/* On disk when it returns 0: a crash after that cannot lose it.  Nothing to remember:
 * the file is removed. */
int caps_state_save(const struct caps_state *state, const char *path, struct err *err);

struct caps_entry *caps_state_find(struct caps_state *state, const char *uuid);
void caps_state_remove(struct caps_state *state, struct caps_entry *entry);

#endif
