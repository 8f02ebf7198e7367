/* output_file.c - handle_output.c says which file and from where; the piece goes into its
 * answer */
#include "service/output_file.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAX_GROUPS 256

/* From here on this thread may open what the user may, and nothing else.  The C library's
 * setgroups() would change all threads. */
static int take_rights(const struct output_ask *ask, struct err *err)
{
    gid_t groups[MAX_GROUPS] = {ask->gid};
    int count = MAX_GROUPS;
    struct passwd entry, *found = NULL;
    char buffer[16384];

    if (geteuid() != 0 || ask->uid == 0)
        return 0;
    if (getpwuid_r(ask->uid, &entry, buffer, sizeof(buffer), &found) != 0 || !found ||
        getgrouplist(entry.pw_name, ask->gid, groups, &count) < 0)
        count = 1;
    if (syscall(SYS_setgroups, (size_t)count, groups) < 0)
        return err_sys(err, "cannot take the groups of user %u", (unsigned)ask->uid);
    setfsgid(ask->gid);
    setfsuid(ask->uid);
    if ((uid_t)setfsuid(ask->uid) != ask->uid) /* says what it was before */
        return err_set(err, ERR_SYSTEM, "cannot take the rights of user %u",
                       (unsigned)ask->uid);
    return 0;
}

/* A pipe or a device must not be waited for, and a link could lead to any file. */
static int open_plain(const struct output_ask *ask, struct stat *info, struct err *err)
{
    int fd;

    if (ask->chosen && take_rights(ask, err) < 0)
        return -1;
    fd = open(ask->path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC |
                             (ask->chosen ? 0 : O_NOFOLLOW));
    if (fd < 0 && errno == ENOENT)
        return err_set(err, ERR_NOT_FOUND, "there is no file %s", ask->path);
    if (fd < 0)
        return err_sys(err, "cannot read %s", ask->path);
    if (fstat(fd, info) == 0 && S_ISREG(info->st_mode) && info->st_uid == ask->uid)
        return fd;
    close(fd);
    return err_set(err, ERR_INVALID,
                   "%s is not a plain file of the user whose job it is, so it is not "
                   "read here",
                   ask->path);
}

/* Where the last so many lines begin; a last line need not have an end. */
static size_t lines_begin(const char *text, size_t length, int lines)
{
    size_t at = length;

    while (at > 0) {
        if (text[at - 1] == '\n' && at < length && --lines == 0)
            return at;
        at--;
    }
    return 0;
}

/* Of a character that is cut off at the end, how many bytes are there. */
static size_t half_character(const char *text, size_t length)
{
    for (size_t back = 1; back <= 3 && back <= length; back++) {
        unsigned char c = (unsigned char)text[length - back];
        size_t whole = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;

        if (c < 0x80 || c >= 0xc0)
            return whole > back ? back : 0;
    }
    return 0;
}

static void fill(const struct output_ask *ask, struct output_piece *piece, char *bytes,
                 size_t count)
{
    size_t skip = ask->lines > 0 ? lines_begin(bytes, count, ask->lines) : 0;
    size_t half = half_character(bytes + skip, count - skip);

    piece->offset += (int64_t)skip;
    count -= skip;
    if (half < count)
        count -= half;
    piece->next = piece->offset + (int64_t)count;
    for (char *c = bytes + skip; c < bytes + skip + count; c++)
        if (!*c)
            *c = '\xff'; /* no text either: JSON shows both alike */
    str_add_bytes(&piece->text, bytes + skip, count);
}

int output_file_read(const struct output_ask *ask, struct output_piece *piece,
                     struct err *err)
{
    struct stat info;
    int fd = open_plain(ask, &info, err);
    char *bytes;
    ssize_t count;

    if (fd < 0)
        return -1;
    piece->size = info.st_size;
    piece->offset = ask->offset < piece->size ? ask->offset : piece->size;
    if (ask->lines > 0)
        piece->offset = piece->size > (int64_t)OUTPUT_FILE_MAX_BYTES
                            ? piece->size - (int64_t)OUTPUT_FILE_MAX_BYTES
                            : 0;
    bytes = mem_array(char, OUTPUT_FILE_MAX_BYTES);
    count = pread(fd, bytes, OUTPUT_FILE_MAX_BYTES, piece->offset);
    if (count >= 0)
        fill(ask, piece, bytes, (size_t)count);
    else
        err_sys(err, "cannot read %s", ask->path);
    free(bytes);
    close(fd);
    return count >= 0 ? 0 : -1;
}
