/* cgroups.h - groups of processes the kernel keeps together, limits and kills for us
 *
 * Machines have cgroup v2, or v1 controllers, or both at once, and often we may not use
 * them.  This finds out what may be used, below the group this process is in, and hides
 * the difference: a group is a relative path ("device-0/job-7-1"), made in every
 * hierarchy that is of use.  Where nothing may be used every call does nothing and the
 * engine helps itself otherwise. */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define CGROUPS_MAX 5 /* hierarchies in use: v2 and four v1 controllers */

struct cgroups;

struct cgroups_options {
    const char *name; /* of our folder in each hierarchy; two engines differ in it */
    bool memory;      /* memory limits are wanted too */
    const char *proc; /* NULL: /proc; tests give their own */
};

/* Never NULL; what may not be used is left out, and cgroups_text() says so. */
struct cgroups *cgroups_open(const struct cgroups_options *options);
/* Folders that are empty are removed, jobs that run keep theirs.  NULL is fine. */
void cgroups_close(struct cgroups *groups);

bool cgroups_limit_cpu(const struct cgroups *groups);
bool cgroups_limit_memory(const struct cgroups *groups);
const char *cgroups_text(const struct cgroups *groups); /* "cpu v1, kill v2"; "none" */

/* Make the group and those above it. */
int cgroups_make(struct cgroups *groups, const char *path, struct err *err);
void cgroups_remove(struct cgroups *groups, const char *path);

/* Processor time a second of the group and all below it, in cores; 0: no limit. */
int cgroups_set_cpu(struct cgroups *groups, const char *path, double cores,
                    struct err *err);
/* When the processor is short: this many times the right of one process; "" is all that
 * is ours.  A wish: not every kernel and not every user can. */
void cgroups_set_weight(struct cgroups *groups, const char *path, double times);
/* Processes and threads of the group and all below it; 0: no limit.  A wish likewise. */
void cgroups_set_tasks(struct cgroups *groups, const char *path, int tasks);
int cgroups_set_memory(struct cgroups *groups, const char *path, double bytes,
                       struct err *err);

/* Descriptors to which a new process writes "0" to enter the group: at most CGROUPS_MAX,
 * the caller closes them. */
int cgroups_enter_fds(struct cgroups *groups, const char *path, int fds[CGROUPS_MAX],
                      size_t *count, struct err *err);
/* Put a process, which looks after a job, into a group of its own beside those of jobs:
 * "aside/NAME", with limits that are wide for that and narrow for anything else.
 * cgroups_remove() with the same path when it has gone. */
void cgroups_put_aside(struct cgroups *groups, const char *path, pid_t pid);

/* Kill all in the group and below; how many there were, 0 when it is empty or not there.
 * Call again until it is. */
int cgroups_kill(struct cgroups *groups, const char *path);

/* Processor seconds so far, the dead included; false when not known. */
bool cgroups_cpu_s(const struct cgroups *groups, const char *path, double *seconds);
/* Times the kernel killed for lack of memory in the group. */
bool cgroups_oom_kills(const struct cgroups *groups, const char *path, uint64_t *kills);

/* Call for each "device/job" group there is. */
void cgroups_each(struct cgroups *groups, void (*visit)(void *ctx, const char *path),
                  void *ctx);
