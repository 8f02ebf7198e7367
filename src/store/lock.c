/* lock.c - see lock.h */
#include "store/lock.h"

#include "base/parse.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

static int refuse(int fd, const char *store_path, struct err *err)
{
    char text[32] = "";
    ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
    int pid;

    text[n > 0 ? n : 0] = '\0';
    text[strcspn(text, "\n")] = '\0';
    if (!parse_int(text, &pid))
        return err_set(err, ERR_EXISTS,
                       "the store %s is in use by another process: stop that one first",
                       store_path);
    return err_set(err, ERR_EXISTS,
                   "the store %s is in use by process %d: stop that one first, or give "
                   "this daemon a store of its own",
                   store_path, pid);
}

/* Nothing depends on the number being there: it only makes the refusal clearer. */
static void write_pid(int fd)
{
    char text[32];
    int length = snprintf(text, sizeof(text), "%d\n", (int)getpid());

    if (ftruncate(fd, 0) == 0 && pwrite(fd, text, (size_t)length, 0) != length)
        (void)!ftruncate(fd, 0);
}

int lock_take(const char *store_path, struct err *err)
{
    struct str path = {0};
    int fd;

    str_addf(&path, "%s.lock", store_path);
    fd = open(str_text(&path), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0) {
        err_sys(err, "cannot open the lock file %s", str_text(&path));
    } else if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        if (errno == EWOULDBLOCK)
            refuse(fd, store_path, err);
        else
            err_sys(err, "cannot lock %s", str_text(&path));
        close(fd);
        fd = -1;
    } else {
        write_pid(fd);
    }
    str_fini(&path);
    return fd;
}

void lock_release(int fd)
{
    if (fd < 0)
        return;
    (void)!ftruncate(fd, 0); /* the file stays: removing it would race with the next */
    close(fd);
}
