/* ending.h - how a job ended, as numbers and as a sentence
 *
 * Out of memory is the end that people ask for most.  The kernel's killer leaves a
 * SIGKILL and a count (of the job's cgroup, or of the whole machine); programs that
 * notice by themselves say so in their last lines. */
#ifndef CORGI_PROBE_ENDING_H
#define CORGI_PROBE_ENDING_H

#include "probe/probe_report.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct oom_watch {
    char cgroup_file[512]; /* that holds an oom_kill count; "": none */
    long cgroup_kills;     /* when it began; -1: not known */
    long machine_kills;    /* likewise, moved on by oom_watch_look() */
};

/* The counts of the cgroup of this process. */
void oom_watch_init(struct oom_watch *watch, pid_t pid);

/* Call now and then: kills on the machine long before the job's end are not the job's. */
void oom_watch_look(struct oom_watch *watch);

/* After a SIGKILL that was not ours: which limit was reached, or NULL for none. */
const char *oom_watch_killed(const struct oom_watch *watch);

/* Does the end of the output tell of it?  The sentence, borrowed and static, or NULL. */
const char *oom_said(const char *text, size_t length);

struct ending {
    int wait_status; /* of the job's first process, as waitpid() gives it */
    bool asked;      /* we were told to stop it */
    bool killed;     /* it did not stop within the grace, so we killed it */
    double grace_s;
    size_t left_behind;     /* processes that outlived it and were stopped */
    const char *kernel_oom; /* from oom_watch_killed(); NULL: none */
    const char *tail;       /* the end of its output */
    size_t tail_length;
    double dropped_bytes; /* of its output, because the file was to stay small */
    uint64_t lost_bytes;  /* of its output, and why */
    int lost_errno;
};

/* Fill exit, signal, oom and text. */
void ending_tell(const struct ending *ending, struct probe_report *status);

/* The last line with something in it, cleaned; "" when there is none. */
void ending_last_line(const char *tail, size_t length, char *line, size_t size);

#endif
