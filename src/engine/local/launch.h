/* launch.h - a fork that becomes corgi-probe as another user
 *
 * start.c fills a struct launch; nothing of the daemon is left in the program but what
 * stands there. */
#pragma once

#include "base/err.h"

#include <sched.h>
#include <stdbool.h>
#include <sys/types.h>

#define LAUNCH_ENV_FD 3 /* of the program: the environment for the job */

struct launch {
    const char *program;
    char *const *argv;
    char *const *env;
    const char *directory;
    const char *messages; /* file for stdout and stderr of the program, made by the user;
                             stdin is empty */
    bool change_user;     /* only root can */
    uid_t uid;
    gid_t gid;
    const gid_t *groups; /* (group_count) with change_user */
    size_t group_count;
    const cpu_set_t *cores; /* NULL: all */
    const int *enter_fds;   /* (enter_count) "0" is written to each, see cgroups.h */
    size_t enter_count;
    int job_env_fd; /* becomes LAUNCH_ENV_FD of the program */
};

/* The process, and a descriptor that tells how its start went: launch_result().  Nothing
 * waits for that: a working directory may be on a server that hangs. */
int launch_start(const struct launch *l, pid_t *pid, int *pidfd, int *result_fd,
                 struct err *err);

/* When result_fd is readable: 0 the program runs, -1 with the reason in err. */
int launch_result(int result_fd, const char *what, struct err *err);
