/* output.c - see output.h */
#include "engine/local/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK 4096

static double on_disk(const struct stat *info)
{
    return (double)info->st_blocks * 512;
}

/* False when the file system has no holes. */
static bool punch(int fd, off_t from, off_t to)
{
    return fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, from, to - from) ==
           0;
}

double output_keep_small(const char *path, uid_t owner, double limit_bytes)
{
    int fd = open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct stat info, after;
    double dropped = 0;
    off_t tail;

    if (fd < 0)
        return 0;
    if (fstat(fd, &info) < 0 || !S_ISREG(info.st_mode) || info.st_uid != owner ||
        on_disk(&info) <= limit_bytes)
        goto done;
    /* Down to half, so that this happens seldom. */
    tail = info.st_size - (off_t)(limit_bytes / 2);
    tail -= tail % BLOCK;
    if (tail <= OUTPUT_HEAD_BYTES)
        goto done;
    if (!punch(fd, OUTPUT_HEAD_BYTES, tail) && ftruncate(fd, 0) < 0)
        goto done;
    if (fstat(fd, &after) == 0)
        dropped = on_disk(&info) - on_disk(&after);
done:
    close(fd);
    return dropped > 0 ? dropped : 0;
}
