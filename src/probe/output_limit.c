/* output_limit.c - drops the middle of an output file that grows too long
 *
 * streams.c opens it beside the file and asks for room before each write. */
#include "probe/output_limit.h"

#include <fcntl.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define COPY_BYTES 65536

void output_limit_open(struct output_limit *limit, const char *path, double limit_bytes)
{
    struct stat info;

    *limit = (struct output_limit){.fd = -1};
    if (!(limit_bytes > 0))
        return;
    /* Writing at an offset needs a descriptor that does not append. */
    limit->fd = open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    limit->limit_bytes = fmax(limit_bytes, OUTPUT_LIMIT_LEAST_BYTES);
    if (limit->fd >= 0 && (fstat(limit->fd, &info) < 0 || !S_ISREG(info.st_mode)))
        output_limit_close(limit);
}

void output_limit_close(struct output_limit *limit)
{
    if (limit->fd >= 0)
        close(limit->fd);
    limit->fd = -1;
}

static double size_of(const struct output_limit *limit)
{
    struct stat info;

    return fstat(limit->fd, &info) == 0 ? (double)info.st_size : 0;
}

/* The last line of the beginning tells a reader what is missing.  It always has the same
 * length, so that a later one covers an earlier one. */
static bool mark(const struct output_limit *limit)
{
    char line[160];
    int length =
        snprintf(line, sizeof(line),
                 "\n[corgi-probe: %12.0f bytes of output that were here are not kept]\n",
                 limit->dropped_bytes);

    return pwrite(limit->fd, line, (size_t)length, OUTPUT_LIMIT_HEAD_BYTES - length) ==
           length;
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
static void drop_middle(struct output_limit *limit, double size)
{
    double tail = floor(limit->limit_bytes / 2) - OUTPUT_LIMIT_HEAD_BYTES;
    double dropped = size - tail - OUTPUT_LIMIT_HEAD_BYTES;

    if (dropped <= 0)
        return;
    limit->dropped_bytes += dropped;
    if (!mark(limit) ||
        !move_back(limit->fd, (off_t)(size - tail), OUTPUT_LIMIT_HEAD_BYTES,
                   (off_t)tail) ||
        ftruncate(limit->fd, (off_t)(OUTPUT_LIMIT_HEAD_BYTES + tail)) < 0)
        output_limit_close(
            limit); /* a disk that does not do this: better all of it than none */
}

void output_limit_make_room(struct output_limit *limit, size_t bytes)
{
    double size;

    if (limit->fd < 0)
        return;
    limit->room_bytes -= (double)bytes;
    if (limit->room_bytes >= 0)
        return;
    size = size_of(limit);
    if (size + (double)bytes > limit->limit_bytes) {
        drop_middle(limit, size);
        size = size_of(limit);
    }
    limit->room_bytes = fmax(limit->limit_bytes - size - (double)bytes, 0);
}
