/* memory_out.h - did the job run out of memory?
 *
 * The kernel's killer leaves a SIGKILL and a count (of the job's cgroup, or of the whole
 * machine); programs that notice by themselves say so in their last lines. */
#ifndef CORGI_PROBE_MEMORY_OUT_H
#define CORGI_PROBE_MEMORY_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct memory_out {
    char cgroup_file[512]; /* that holds an oom_kill count; "": none */
    long cgroup_kills;     /* when it began; -1: not known */
    long machine_kills;    /* likewise, moved on by memory_out_look() */
};

/* The counts of the cgroup of this process. */
void memory_out_init(struct memory_out *memory, pid_t pid);

/* Call now and then: kills on the machine long before the job's end are not the job's. */
void memory_out_look(struct memory_out *memory);

/* After a SIGKILL nobody of ours sent: "the job's cgroup ..." or NULL when there was
 * none.
 */
const char *memory_out_killed(const struct memory_out *memory);

/* Does the end of the output tell of it?  The sentence, borrowed and static, or NULL. */
const char *memory_out_said(const char *text, size_t length);

#endif
