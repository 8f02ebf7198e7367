/* notify.c - see notify.h */
#include "service/notify.h"

#include "base/file.h"
#include "base/parse.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

void notify_systemd(const char *state)
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
    /* Who started us does not listen any more?  Then nobody wants to know. */
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

double notify_watchdog_s(void)
{
    const char *text = getenv("WATCHDOG_USEC");
    uint64_t usec;

    if (!text || !parse_u64(text, &usec) || !ours("WATCHDOG_PID"))
        return 0;
    return (double)usec / 1e6;
}

int notify_listen_fds(void)
{
    const char *text = getenv("LISTEN_FDS");
    int count;

    if (!text || !parse_int(text, &count) || count < 1 || count > 16 ||
        !getenv("LISTEN_PID") || !ours("LISTEN_PID"))
        return 0;
    return count;
}

int notify_pid_write(const char *path, struct err *err)
{
    char text[32];
    int length = snprintf(text, sizeof(text), "%ld\n", (long)getpid());

    return file_write(path, text, (size_t)length, err);
}

void notify_pid_remove(const char *path)
{
    char *text;
    size_t count;

    if (file_read(path, 64, &text, &count, NULL) < 0)
        return;
    if (strtol(text, NULL, 10) == (long)getpid())
        unlink(path);
    free(text);
}
