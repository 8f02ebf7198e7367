/* script.h - what the fake NVML pretends, from a text file
 *
 *     driver fake-550.54
 *     reload 30 40                      # the driver is gone from second 30 to 40
 *     gpu name="Tesla V100-SXM2-16GB" arch=5 memory=16384 limit=300 min=150 max=300
 *       power 0 60                      # from second 0 on: 60 W
 *       power 10 250
 *       util 10 95
 *       process 4242 2000 60            # pid, MB, percent
 *       error nvmlDeviceGetTemperature 4 5 9   # result 4 from second 5 to 9
 *       hang nvmlDeviceGetPowerUsage 5 6       # a call at second 5 returns at second 6
 *       unplug 20 25                    # lost from second 20 to 25
 *       sentinel nvmlDeviceGetPowerUsage       # done, but with all bits set
 *       jump 12 -5000                   # the energy counter moves by so many joules
 *       mig 2 4864                      # two instances with so many MB
 *       follow 80 40 1500               # each session of processes that has the UUID in
 *                                       # CUDA_VISIBLE_DEVICES draws, uses, holds
 *
 * Settings of a gpu line: name uuid pci device_id arch memory limit min max energy=yes|no
 * field=yes|no (power fields 185 and 186) setlimit=yes|no.  Seconds count from when the
 * state began, see state.h.  A later time of 0 or none means for good. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define FAKE_MAX_GPUS   16
#define FAKE_MAX_EVENTS 64
#define FAKE_MAX_MIG    7

enum fake_kind {
    FAKE_POWER,
    FAKE_UTIL,
    FAKE_THROTTLE,
    FAKE_PROCESS,
    FAKE_ERROR,
    FAKE_HANG,
    FAKE_UNPLUG,
    FAKE_SENTINEL,
    FAKE_JUMP,
};

struct fake_event {
    enum fake_kind kind;
    char function[64]; /* ERROR, HANG, SENTINEL */
    double from_s, until_s;
    double value;   /* watts, percent, bits, result, joules, pid */
    double more[2]; /* PROCESS: MB and percent */
};

struct fake_gpu {
    char name[64];
    char uuid[64];
    char pci[32];
    unsigned device_id;
    int arch;
    double memory_mb;
    double limit, min, max; /* watts */
    bool energy, field, setlimit;
    int mig;
    double mig_memory_mb;
    bool follow;
    double follow_watts, follow_percent, follow_mb;
    int event_count;
    struct fake_event events[FAKE_MAX_EVENTS];
};

struct fake_script {
    char driver[64];
    double reload_from_s, reload_until_s;
    int count;
    struct fake_gpu gpus[FAKE_MAX_GPUS];
};

/* 0, or the number of the line that is wrong (and why). */
int fake_script_parse(struct fake_script *script, const char *text, size_t length,
                      char *why, size_t why_size);
int fake_script_load(struct fake_script *script, const char *path, char *why,
                     size_t why_size);

/* The newest value of a kind that holds at a time; `otherwise` when there is none. */
double fake_script_value(const struct fake_gpu *gpu, enum fake_kind kind, double at_s,
                         double otherwise);
/* An event of the kind that holds now, for this function; NULL: none. */
const struct fake_event *fake_script_event(const struct fake_gpu *gpu,
                                           enum fake_kind kind, const char *function,
                                           double at_s);
