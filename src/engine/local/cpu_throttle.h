/* cpu_throttle.h - less than a whole processor where cgroups are closed: stop and
 * continue
 *
 * Groups of jobs have a budget of processor time a period.  A thread watches what their
 * processes use, stops all of them when it is used up (SIGSTOP) and lets them go on in
 * the next period (SIGCONT); what was used beyond is taken from the next budget, so that
 * the mean is right.  The processes are the ones below each job's probe; the probe itself
 * is never stopped.  Should this process be killed, jobs may stand still until the next
 * one adopts them: cgroups have no such gap. */
#ifndef CORGI_ENGINE_LOCAL_CPU_THROTTLE_H
#define CORGI_ENGINE_LOCAL_CPU_THROTTLE_H

#include "base/err.h"

#include <sys/types.h>

struct cpu_throttle;

struct cpu_throttle *
cpu_throttle_create(struct err *err); /* NULL: no thread could be started */
/* All that is stopped goes on.  NULL is fine. */
void cpu_throttle_destroy(struct cpu_throttle *throttle);

/* Cores of processor time a second for the jobs of this group; 0: no limit. */
void cpu_throttle_set(struct cpu_throttle *throttle, int group, double cores);

/* A job's probe belongs to the group, from now until it is removed. */
void cpu_throttle_add(struct cpu_throttle *throttle, int group, pid_t probe);
void cpu_throttle_remove(struct cpu_throttle *throttle,
                         pid_t probe); /* what is stopped goes on */

#endif
