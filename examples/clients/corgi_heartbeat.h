/* corgi_heartbeat.h - tell Corgi how far this program is, in one line
 *
 *     corgi_heartbeat("steps=%ld", step);
 *     corgi_heartbeat("rate=%.1f unit=sample rank=%d", samples_per_second, rank);
 *
 * Does nothing when the program does not run under Corgi, never blocks, never fails in a
 * way that matters.  Call it as often as you like: once a second is plenty.  A copy of
 * this file is all a program needs; plain C99 and POSIX. */
#pragma once

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

__attribute__((format(printf, 1, 2), unused)) static void
corgi_heartbeat(const char *format, ...)
{
    static int fd = -2; /* -2: not tried yet, -1: nobody listens */
    static struct sockaddr_un address;
    const char *path;
    char line[256];
    va_list args;
    int length;

    if (fd == -2) {
        path = getenv("CORGI_HEARTBEAT");
        fd = -1;
        if (path && strlen(path) < sizeof(address.sun_path)) {
            address.sun_family = AF_UNIX;
            strcpy(address.sun_path, path);
            fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        }
    }
    if (fd < 0)
        return;
    va_start(args, format);
    length = vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    if (length > 0 && length < (int)sizeof(line))
        (void)sendto(fd, line, (size_t)length, MSG_DONTWAIT | MSG_NOSIGNAL,
                     (const struct sockaddr *)&address, sizeof(address));
}
