/* cpu_quota.h - which job may use how much of the processor
 *
 * Jobs on one CPU device share its quota and so really interfere.  A job on several
 * devices cannot be in the groups of all of them: it gets a group of its own with its
 * part of each device, and what the others on these devices have becomes less by it. */
#ifndef CORGI_ENGINE_LOCAL_CPU_QUOTA_H
#define CORGI_ENGINE_LOCAL_CPU_QUOTA_H

#include "engine/local/cgroups.h"
#include "engine/local/cpus.h"
#include "engine/local/cpu_throttle.h"

#include <stdint.h>

#define CPU_QUOTA_PATH_SIZE 64

struct cpu_quota;

/* cpus (one a device; core_count 0: not a CPU device) and groups are borrowed.  Where the
 * groups cannot limit processor time, a throttle cycle does. */
struct cpu_quota *cpu_quota_create(const struct cpus_device *cpus, int device_count,
                                   struct cgroups *groups, struct err *err);
void cpu_quota_destroy(
    struct cpu_quota *quota); /* NULL is fine; jobs keep what they have */

/* How the quota is kept: "cgroup", "throttle cycle", "none" without CPU devices. */
const char *cpu_quota_method(const struct cpu_quota *quota);

/* The group of a job's attempt; devices in any order. */
void cpu_quota_path(uint64_t job, int attempt, const int *devices, int count,
                    char path[CPU_QUOTA_PATH_SIZE]);

/* A job comes (its group is made, its probe may not run yet), is there, goes. */
int cpu_quota_join(struct cpu_quota *quota, uint64_t job, int attempt, const int *devices,
                   int count, struct err *err);
void cpu_quota_started(struct cpu_quota *quota, uint64_t job, int attempt, pid_t probe);
void cpu_quota_leave(struct cpu_quota *quota, uint64_t job, int attempt);

/* Use only this part of the device's quota, in (0, 1]. */
void cpu_quota_scale(struct cpu_quota *quota, int device, double scale);

/* How many jobs are on the device. */
int cpu_quota_jobs_on(const struct cpu_quota *quota, int device);

#endif
