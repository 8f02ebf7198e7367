/* daemon_process.c - the daemon as a process: systemd, pid file, priority, descriptors
 *
 * service.c calls these when it starts, lives and ends, listeners.c for its sockets. */
#include "service/service_private.h"

#include "base/file.h"
#include "base/log.h"
#include "base/parse.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* ---- systemd and the pid file ----------------------------------------------------- */

void daemon_process_notify(const char *state)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    socklen_t size;
    int fd;

    if (!path || (path[0] != '/' && path[0] != '@') ||
        strlen(path) >= sizeof(address.sun_path))
        return;
    strcpy(address.sun_path, path);
    if (path[0] == '@')
        address.sun_path[0] = '\0'; /* the abstract name space */
    size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path));
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return;
    /* If systemd does not listen any more, nobody wants to know. */
    (void)!sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&address,
                  size);
    close(fd);
}

static bool ours(const char *name)
{
    const char *text = getenv(name);
    uint64_t pid;

    return !text || (parse_u64(text, &pid) && pid == (uint64_t)getpid());
}

double daemon_process_watchdog_s(void)
{
    const char *text = getenv("WATCHDOG_USEC");
    uint64_t usec;

    if (!text || !parse_u64(text, &usec) || !ours("WATCHDOG_PID"))
        return 0;
    return (double)usec / 1e6;
}

int daemon_process_listen_fds(void)
{
    const char *text = getenv("LISTEN_FDS");
    int count;

    if (!text || !parse_int(text, &count) || count < 1 || count > 16 ||
        !getenv("LISTEN_PID") || !ours("LISTEN_PID"))
        return 0;
    return count;
}

int daemon_process_write_pid(const char *path, struct err *err)
{
    char text[32];
    int length = snprintf(text, sizeof(text), "%ld\n", (long)getpid());

    return file_write(path, text, (size_t)length, err);
}

void daemon_process_remove_pid(const char *path)
{
    char *text;
    size_t count;

    if (file_read(path, 64, &text, &count, NULL) < 0)
        return;
    if (strtol(text, NULL, 10) == (long)getpid())
        unlink(path);
    free(text);
}

/* ---- the machine ------------------------------------------------------------------ */

/* Of the store, engines, logs. */
#define DESCRIPTORS_BESIDE 512

/* Requests are answered also when jobs use every core.  Threads made later inherit it.
 * Where sessions are scheduled as groups (sched_autogroup), priorities count only within
 * one: a daemon with a session of its own raises that too. */
void daemon_process_nice(int nice)
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
 * Jobs do not inherit it (engine/local/start.c). */
void daemon_process_descriptors(int connections)
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
