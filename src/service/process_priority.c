/* process_priority.c - see process_priority.h */
#include "service/process_priority.h"

#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* Of the store, engines, logs. */
#define DESCRIPTORS_BESIDE 512

/* Who asks is answered also when jobs use every core.  Threads made later inherit it.
 * Where sessions are scheduled as groups (sched_autogroup), priorities count only within
 * one: a daemon with a session of its own raises that too. */
void process_priority_priority(int nice)
{
    char text[16];
    int fd;

    if (setpriority(PRIO_PROCESS, 0, nice) < 0) {
        log_debug("usual_priority", LOG_STR("error", strerror(errno)));
        return;
    }
    fd = getsid(0) == getpid() ? open("/proc/self/autogroup", O_WRONLY | O_CLOEXEC) : -1;
    if (fd < 0)
        return;
    snprintf(text, sizeof(text), "%d", nice);
    if (write(fd, text, strlen(text)) < 0)
        log_debug("usual_priority", LOG_STR("error", strerror(errno)));
    close(fd);
}

/* Shells give a process 1,024 descriptors: fewer than the connections that are allowed.
 * Jobs do not inherit it (engine/local/launch.c). */
void process_priority_descriptors(int connections)
{
    rlim_t wanted = (rlim_t)connections + DESCRIPTORS_BESIDE;
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= wanted)
        return;
    limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
    if (setrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur < wanted)
        log_warn("few_descriptors", LOG_I64("allowed", (int64_t)limit.rlim_cur),
                 LOG_I64("wanted", (int64_t)wanted));
}
