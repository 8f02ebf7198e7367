/* supervisor.h - the job's processes from the first to the very last one, and their end
 *
 * The first process gets a session and process group of its own, with the signals as a
 * fresh process has them, and the kernel kills it when the probe dies.  Signals go on to
 * the job's process group.  After a SIGTERM the job has its grace, then everything below
 * the probe is killed, detached processes too.  When the first process ends by itself,
 * the processes it left behind may finish for a moment, are asked to stop, and are then
 * killed: a job is over when nothing of it runs.
 *
 * Out of memory is the end that people ask for most.  The kernel's killer leaves a
 * SIGKILL and a count (of the job's cgroup, or of the whole machine); programs that
 * notice by themselves say so in their last lines. */
#pragma once

#include "base/err.h"
#include "probe/probe_report.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct supervisor {
    double grace_s;      /* set before it starts */
    double look_every_s; /* likewise: at the kernel's count of kills */
    pid_t pid;           /* of the first process */
    bool asked;          /* SIGTERM came */
    bool signalled;      /* any signal went on to the first process while it lived */
    bool killed;         /* the grace was over before the job was */
    bool ended;          /* the first process */
    bool gone;           /* all of them */
    int wait_status;     /* of the first */
    double ended_s;      /* when the first ended */
    size_t left_behind;
    double kill_at_s;   /* infinity: no reason to */
    double term_at_s;   /* likewise: ask what was left behind to stop */
    bool kernel_kill;   /* any process of the job died of a SIGKILL that was not ours */
    char oom_file[512]; /* of its cgroup, with a count of kills */
    long cgroup_kills;  /* when it began; -1: not known */
    long machine_kills; /* likewise, at the last look */
    double look_at_s;   /* at it again */
    const char *kernel_oom; /* which limit the kernel killed for; NULL: none */
};

struct streams;    /* of streams.h */
struct output_end; /* likewise */

/* With this environment, the streams' ends for the job as 0, 1 and 2, and the signals
 * blocked that were when the probe was started.  0: the command runs.  -1: it could not
 * be started; *exit_status is what a shell would say, 127 when there is no such command
 * and 126 when it cannot be run. */
struct supervisor_command {
    char *const *argv;
    char *const *env;
};

int supervisor_start(struct supervisor *supervisor,
                     const struct supervisor_command *command,
                     const struct streams *streams, const sigset_t *mask,
                     int *exit_status, struct err *err);

/* A signal for the job. */
void supervisor_signal(struct supervisor *supervisor, int signal, double now_s);

/* Something below us has ended. */
void supervisor_reap(struct supervisor *supervisor, double now_s);

void supervisor_tick(struct supervisor *supervisor, double now_s);
double supervisor_due_s(const struct supervisor *supervisor);

/* All are gone: fill exit, signal, oom and text. */
void supervisor_tell_end(const struct supervisor *supervisor,
                         const struct output_end *output, struct probe_report *ended);
