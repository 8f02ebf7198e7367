/* device_activity.h - how busy a job keeps its GPUs, for a job that says nothing else
 *
 * Drivers take long to start and may hang, so a thread of its own asks them.  What counts
 * is device seconds: the share of a device's time that the job's processes used, added
 * up.  Where the driver does not tell of processes, all that the device does is taken for
 * the job's. */
#ifndef CORGI_PROBE_DEVICE_ACTIVITY_H
#define CORGI_PROBE_DEVICE_ACTIVITY_H

#include "base/process.h"

#include <stdbool.h>

struct device_activity;

/* visible: UUIDs as in CUDA_VISIBLE_DEVICES, with commas between; NULL when it names
 * none. */
struct device_activity *device_activity_start(const char *visible, double period_s);

/* NULL is fine.  A driver that hangs is left behind with its thread. */
void device_activity_stop(struct device_activity *activity);

enum device_activity_state {
    DEVICE_ACTIVITY_OPENING, /* the driver has not answered yet */
    DEVICE_ACTIVITY_NONE,    /* it tells nothing of these devices */
    DEVICE_ACTIVITY_COUNTS,
};

/* Device seconds of these processes since the start, in *seconds when it counts. */
enum device_activity_state device_activity_look(struct device_activity *activity,
                                                const struct process_table *table,
                                                double *seconds);

#endif
