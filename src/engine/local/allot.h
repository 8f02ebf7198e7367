/* allot.h - which job may use how much of the processor
 *
 * Jobs on one CPU device share its quota and so really interfere.  A job on several
 * devices cannot be in the groups of all of them: it gets a group of its own with its
 * part of each device, and what the others on these devices have becomes less by it. */
#ifndef CORGI_ENGINE_LOCAL_ALLOT_H
#define CORGI_ENGINE_LOCAL_ALLOT_H

#include "engine/local/cgroups.h"
#include "engine/local/cpus.h"
#include "engine/local/duty.h"

#include <stdint.h>

#define ALLOT_PATH_SIZE 64

struct allot;

/* cpus (one a device; core_count 0: not a CPU device) and groups are borrowed.  Where the
 * groups cannot limit processor time, a duty cycle does. */
struct allot *allot_create(const struct cpus_device *cpus, int device_count,
                           struct cgroups *groups, struct err *err);
void allot_destroy(struct allot *allot); /* NULL is fine; jobs keep what they have */

/* How the quota is kept: "cgroup", "duty cycle", "none" without CPU devices. */
const char *allot_method(const struct allot *allot);

/* The group of a job's attempt; devices in any order. */
void allot_path(uint64_t job, int attempt, const int *devices, int count,
                char path[ALLOT_PATH_SIZE]);

/* A job comes (its group is made, its probe may not run yet), is there, goes. */
int allot_join(struct allot *allot, uint64_t job, int attempt, const int *devices,
               int count, struct err *err);
void allot_started(struct allot *allot, uint64_t job, int attempt, pid_t probe);
void allot_leave(struct allot *allot, uint64_t job, int attempt);

/* Use only this part of the device's quota, in (0, 1]. */
void allot_scale(struct allot *allot, int device, double scale);

/* How many jobs are on the device. */
int allot_jobs_on(const struct allot *allot, int device);

#endif
