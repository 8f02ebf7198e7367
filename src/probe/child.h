/* child.h - the job's first process
 *
 * In a session and process group of its own, with the signals as a fresh process has
 * them, and killed by the kernel when the probe dies. */
#ifndef CORGI_PROBE_CHILD_H
#define CORGI_PROBE_CHILD_H

#include "base/err.h"

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct child_start {
    char *const *argv;
    int in, out, err; /* become 0, 1, 2; -1: as the probe's own */
    bool terminal;    /* `out` or `in` is a terminal to be the session's own */
    sigset_t mask;    /* signals blocked when the probe was started */
};

struct child {
    pid_t pid;
    int pidfd;
};

/* 0: it runs the command.  -1: it could not be started; *exit_status is what a shell
 * would say, 127 when there is no such command and 126 when it cannot be run. */
int child_start(struct child *child, const struct child_start *start, int *exit_status,
                struct err *err);

#endif
