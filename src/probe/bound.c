/* bound.c - see bound.h */
#include "probe/bound.h"

#include <fcntl.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define COPY_BYTES 65536

void bound_open(struct bound *bound, const char *path, double limit_bytes)
{
    struct stat info;

    *bound = (struct bound){.fd = -1};
    if (!(limit_bytes > 0))
        return;
    /* Writing at an offset needs a descriptor that does not append. */
    bound->fd = open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    bound->limit_bytes = fmax(limit_bytes, BOUND_LEAST_BYTES);
    if (bound->fd >= 0 && (fstat(bound->fd, &info) < 0 || !S_ISREG(info.st_mode)))
        bound_close(bound);
}

void bound_close(struct bound *bound)
{
    if (bound->fd >= 0)
        close(bound->fd);
    bound->fd = -1;
}

static double size_of(const struct bound *bound)
{
    struct stat info;

    return fstat(bound->fd, &info) == 0 ? (double)info.st_size : 0;
}

/* The last line of the beginning: who reads on from here is told.  Always of the same
 * length, so that a later one covers an earlier one. */
static bool mark(const struct bound *bound)
{
    char line[160];
    int length =
        snprintf(line, sizeof(line),
                 "\n[corgi-probe: %12.0f bytes of output that were here are not kept]\n",
                 bound->dropped_bytes);

    return pwrite(bound->fd, line, (size_t)length, BOUND_HEAD_BYTES - length) == length;
}

/* From a place to one before it: forward, so that parts that overlap come out right. */
static bool move_back(int fd, off_t from, off_t to, off_t bytes)
{
    static char buffer[COPY_BYTES];

    while (bytes > 0) {
        ssize_t n = pread(fd, buffer, sizeof(buffer), from);

        if (n <= 0 || pwrite(fd, buffer, (size_t)n, to) != n)
            return false;
        from += n;
        to += n;
        bytes -= n;
    }
    return true;
}

/* Down to half, so that this happens seldom. */
static void drop_middle(struct bound *bound, double size)
{
    double tail = floor(bound->limit_bytes / 2) - BOUND_HEAD_BYTES;
    double dropped = size - tail - BOUND_HEAD_BYTES;

    if (dropped <= 0)
        return;
    bound->dropped_bytes += dropped;
    if (!mark(bound) ||
        !move_back(bound->fd, (off_t)(size - tail), BOUND_HEAD_BYTES, (off_t)tail) ||
        ftruncate(bound->fd, (off_t)(BOUND_HEAD_BYTES + tail)) < 0)
        bound_close(bound); /* a disk that does not do this: better all of it than none */
}

void bound_make_room(struct bound *bound, size_t bytes)
{
    double size;

    if (bound->fd < 0)
        return;
    bound->room_bytes -= (double)bytes;
    if (bound->room_bytes >= 0)
        return;
    size = size_of(bound);
    if (size + (double)bytes > bound->limit_bytes) {
        drop_middle(bound, size);
        size = size_of(bound);
    }
    bound->room_bytes = fmax(bound->limit_bytes - size - (double)bytes, 0);
}
