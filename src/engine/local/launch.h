/* launch.h - starting a program as another user, with nothing of ours left in it
 *
 * Between fork and exec only calls that are safe there: everything is prepared before.
 * A failure in the child comes back through a pipe, which closes when the program has
 * been started; nothing here waits for it, for a working directory may be on a server
 * that hangs. */
#ifndef CORGI_ENGINE_LOCAL_LAUNCH_H
#define CORGI_ENGINE_LOCAL_LAUNCH_H

#include "base/err.h"

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

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
};

/* The process, and a descriptor that tells how its start went: launch_result(). */
int launch_start(const struct launch *launch, pid_t *pid, int *pidfd, int *result_fd,
                 struct err *err);

/* When result_fd is readable: 0 the program runs, -1 with the reason in err. */
int launch_result(int result_fd, const char *what, struct err *err);

#endif
